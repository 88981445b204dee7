// One throw-away sandbox, made the way every other is, to see whether it can be
// made: for `piorch doctor`. Blocks; main thread only (see launch.hpp).
#pragma once

#include "config/settings.hpp"
#include "sandbox/policy.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct trial {
  bool made = false;   // piorch-init reported that the command ran to its end
  int exit_code = 125; // the command's
  std::string problem; // why not, one line
  std::string output;  // the command's, bounded
  std::chrono::milliseconds took{0};
};

// Runs `arguments` in a sandbox whose workspace is an empty directory below the
// temporary directory of `from`. Ends it when `limit` has passed. Nothing is left.
trial try_sandbox(const config::settings& settings, policy_inputs from,
                  const std::vector<std::string>& arguments, std::chrono::milliseconds limit);

} // namespace piorch::sandbox
