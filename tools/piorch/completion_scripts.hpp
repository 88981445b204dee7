// The scripts of tools/completions, built into the program.
#pragma once

#include <string_view>

namespace piorch::cli {

struct completion_script {
  std::string_view shell;
  std::string_view text;
};

extern const completion_script completion_scripts[3];

} // namespace piorch::cli
