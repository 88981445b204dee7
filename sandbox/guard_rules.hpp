// What the create guard is to protect, from a surveyed policy. What is in Git directories is
// not listed: the guard recognises them (sandbox/guard/git_dir.hpp). Any thread.
#pragma once

#include "sandbox/init_protocol.hpp"
#include "sandbox/policy.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct guarded_name {
  init::guard_kind kind;
  std::string path;           // absolute
  std::size_t tree_bytes = 0; // of it: the writable tree
};

// Names that are there are listed too: on the host somebody may remove one, with its
// mount, while the command runs. So are all pinned directories: most have no mount.
std::vector<guarded_name> guarded_names(const policy& p, const std::vector<std::string>& trees);

} // namespace piorch::sandbox
