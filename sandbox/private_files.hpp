// Files that a command gets for itself alone: read-only, in a directory of their own
// below its private temp dir, which a variable names. The directory can be written,
// programs put their locks there. Any thread.
#pragma once

#include "config/result.hpp"
#include "sandbox/environment.hpp"
#include "sandbox/scratch.hpp"

#include <map>
#include <string>

namespace piorch::sandbox {

struct private_files {
  std::string variable;                     // "" when there are none
  std::map<std::string, std::string> texts; // by file name
};

// Before the sandbox starts, so nobody can race with it. failure::usage for a name
// that is no plain file name; failure::sandbox_unavailable when they cannot be made.
result<done> place_private_files(const private_files& files, const scratch& temp,
                                 environment& variables);

} // namespace piorch::sandbox
