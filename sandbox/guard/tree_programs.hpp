// What the host's Git runs or reads in every work tree of a repository, by a path relative to the
// tree's top (or to a bare Git directory): a setting that was there before says `core.hooksPath =
// .githooks`. The workspace's own is protected by its path; this is for all other trees (`git
// worktree add`, a `.git` file that names the repository, a clone if the setting is the user's).
//
// Contract: a `.git` and such a path never come together in one directory, whichever is the later
// one, and where both are already nothing is made or written at or below that path. So trees can
// be added, but what Git would run in them cannot. A submodule counts as one, too: by its `.git`
// file it cannot be told from a linked work tree, whose Git directory can be moved to below
// `modules` and still has the repository's settings. A link on the way counts as the whole path,
// for what it leads to can change later.
//
// Every question has to be asked again after the deed: the other half may have come meanwhile.
// Immutable after construction; any thread.
#pragma once

#include "sandbox/guard/git_dir.hpp"
#include "sandbox/guard/rules.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::guard {

inline constexpr const char* run_in_trees = "the host's Git would run or read it in this work tree";
inline constexpr const char* tree_with_programs =
    "a work tree in which the host's Git would run or read what is there already";

class tree_programs {
public:
  explicit tree_programs(const std::vector<rule>& all); // of these, the kinds that are meant here

  // Has the deed on D/name anything to do with these? By names alone; `path` is D's.
  bool concern(std::string_view path, std::string_view name) const;

  // Is there one in this directory, which is becoming a Git directory and may be a bare one?
  bool has_one(int directory) const;

  // May it be done, or stay? nullptr, or the rule that is broken.
  const char* broken_by(int parent, std::string_view path, std::string_view name, deed what) const;

private:
  struct program {
    std::string path;               // relative to the top of a tree; "" for what lies above it
    std::vector<std::string> parts; // of it, folded
    bool linked = false;            // a repository's own setting: only where .git is a file
    std::string only_with;          // if not empty: only where this path is, too
  };
  // What .git is: not there, no directory, a directory; or this is a Git directory itself, which
  // can be bare and bring settings of its own.
  enum class tree { none, linked, own, git_dir };
  static tree tree_at(int directory);
  const char* broken_by_git(int directory, tree when_absent) const;

  std::vector<program> programs_;
};

} // namespace piorch::sandbox::guard
