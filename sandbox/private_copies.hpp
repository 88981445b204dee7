// The content of a sandbox's own directories (policy_extras::own): copies of the user's files,
// because the command writes what it finds there, and nobody outside may read that again.
// Any thread.
#pragma once

#include "config/result.hpp"
#include "sandbox/policy.hpp"
#include "sandbox/scratch.hpp"

#include <optional>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct private_copy {
  std::string from;   // absolute: a regular file, or a directory
  std::string to;     // relative to the private directory; what is above it exists or is made
  bool needed = true; // false: a cache; what is not the user's or too much is left out
  std::optional<std::string> text = {}; // the copy's content instead of the file's
};

// Before the sandbox starts: its mounts need them. failure::sandbox_unavailable.
result<done> make_own_directories(const std::vector<own_directory>& own, const scratch& temp);

// Before the command starts. What is not there is passed over; links in a copied directory are
// not followed and not copied. failure::sandbox_unavailable names what could not be copied.
result<done> place_private_copies(const std::vector<private_copy>& copies, const scratch& temp);

} // namespace piorch::sandbox
