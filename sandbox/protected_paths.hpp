// Which names of a workspace no sandboxed command may write, and which of them
// are there now (contract, section 7). The reasons are for people.
#pragma once

#include <string>
#include <vector>

namespace piorch::sandbox {

struct protected_path {
  std::string path; // relative to its root, no link above the last component
  std::string reason;
  bool present = false;
  bool by_guard = false; // rule::by_guard
};

// The names below the workspace root that are protected whether or not they
// exist, present or not. Of a name that is a link, the link is protected and what
// it leads to inside the workspace (what lies outside is not writable anyway).
std::vector<protected_path> protect_fixed_names(const std::string& workspace);

// Secrets and nested Git repositories found by a walk of at most four levels
// that skips build output and dependencies. Never follows a link to a directory.
struct walk_result {
  std::vector<protected_path> secrets;
  std::vector<std::string> repositories; // relative directories that have a .git, root excluded
};
walk_result walk_workspace(const std::string& workspace);

// Is this entry of a directory a secret by its name?
bool is_secret_name(const std::string& name, bool directory);

} // namespace piorch::sandbox
