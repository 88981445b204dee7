// A worker that a worker starts: piorch-pi inside a sandbox. Main thread.
#pragma once

#include "config/result.hpp"
#include "sandbox/caller.hpp"

#include <string>
#include <vector>

namespace piorch::pi {

// Asks the broker to be let in, runs the real Pi as a child, and leaves as it left. It counts as
// long as this process lives, whose connection no tool of Pi's inherits. Returns only when Pi was
// not run.
error run_nested(const std::vector<std::string>& real, const std::vector<std::string>& arguments,
                 const std::string& agent, const sandbox::caller_signals& caller);

} // namespace piorch::pi
