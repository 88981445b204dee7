// What the host's Git runs from a work tree, because settings that were there before say
// so: a hooks directory like .husky, filters and other commands that are files of the
// project, and settings files that are included. Any thread.
#pragma once

#include "sandbox/git_layout.hpp"
#include "sandbox/policy.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct git_programs {
  // Absolute paths, present or not; some may lie outside of the work tree. What a program
  // named there runs or reads itself is not followed, except for husky's.
  std::vector<protected_path> here;
  // The same in other work trees, for what is named by a relative path.
  std::vector<tree_program> in_trees;
};

// `homes`: for ~ and for the user's own settings, which are all that counts where no Git directory
// is.
git_programs find_git_programs(const std::string& work_tree, const git_layout& git,
                               const std::vector<std::string>& homes);

} // namespace piorch::sandbox
