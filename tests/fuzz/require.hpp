// A property that must hold in every build, also with NDEBUG.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PIORCH_REQUIRE(condition)                                                                  \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);           \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
