// Writes the system call filter of every sandboxed command as the kernel takes it: what
// tools/bench/guard gives to both sides, which a sandbox has with and without the guard.
#include "sandbox/seccomp.hpp"

#include <cstdio>

int main() {
  const auto filter = piorch::sandbox::make_filter();
  if (!filter) {
    std::fprintf(stderr, "%s\n", filter.failed().text.c_str());
    return 1;
  }
  return std::fwrite(filter->data(), sizeof(sock_filter), filter->size(), stdout) == filter->size()
             ? 0
             : 1;
}
