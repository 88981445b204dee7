// A plan as bubblewrap's arguments: for bubblewrap itself, with every source
// pinned by a descriptor, and as text that a person can read and run.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/plan.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct bwrap_arguments {
  std::vector<std::string> options;        // without program name and command
  std::vector<ipc::unique_fd> descriptors; // to be passed on as first_fd, first_fd + 1, …
};

// Opens every source of `p` without following a link. An error names the path
// (failure::sandbox_unavailable).
result<bwrap_arguments> make_bwrap_arguments(const plan& p, int first_fd);

// A shell command line, one operation a line, that makes the same walls without
// piorch-init: `piorch policy --format bwrap`. Both parts of the plan are in it.
std::string bwrap_text(const plan& p, const std::string& workspace);

} // namespace piorch::sandbox
