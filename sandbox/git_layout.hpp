// Where the Git directory of a work tree really is, and what in it makes the
// host's Git run programs (facts: each entry was shown to run one).
#pragma once

#include "sandbox/protected_paths.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct git_layout {
  enum class kind_type {
    none,      // no .git
    directory, // .git is a directory of the work tree
    worktree,  // .git is a file, and the linked worktree's directory points back
    submodule, // .git is a file, and the module's core.worktree points back
    foreign,   // .git leads somewhere that does not point back: never writable
  };
  kind_type kind = kind_type::none;
  std::string git_dir;    // absolute, canonical; empty for none, and for what is no Git directory
  std::string common_dir; // of a worktree, also a foreign one: the repository's; else = git_dir
};

// Has it what Git knows a repository by? The create guard watches what is written into such a
// directory (and into one called .git); the settings of any other can be a command's own.
bool is_repository(const std::string& common_dir);

// A pointer file may have been written by a worker. It counts only if the place
// it names points back here, and that place lies where no worker could write.
git_layout find_git(const std::string& work_tree);

// The place to which the `.git` file of a work tree leads, as far as a link could come to be there
// or on the way: up to a `.git`, or all of it. It need not be there. As text; one more for each
// ".." behind a name, and for a `.git` that is a link.
std::vector<std::string> ways_of_git_file(const std::string& work_tree);

// The entries of a Git directory that must not be written; paths relative to it.
// Present ones only for modules and linked worktrees, as they are found by a walk. What
// may be removed by a command is left to the create guard: hooks of which Git runs none
// (not of the workspace's own repository), and what leads to a linked work tree inside the
// workspace.
std::vector<protected_path> protect_git_dir(const std::string& git_dir,
                                            const std::string& workspace);

} // namespace piorch::sandbox
