// The protected names that must not come into being, and the question whether a
// (directory, name) is one of them.
//
// Contract: a protected path is looked up afresh for every question whose last
// name occurs in one, and compared by identity of the directory (device, inode) and
// ASCII-folded name, so links, spellings and mounts make no difference. Earlier
// components may only come into being by mkdir and may not be renamed away: a
// guarded directory therefore begins empty and under its own name, and there is no
// race between this check and a rename of a parent. What the path led through at
// start, links resolved as text too, stays guarded for life: unlink is not notified, and
// removing a link must not unguard what it led to.
//
// Immutable after construction; any thread.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/kernel.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::guard {

enum class rule_kind : std::uint8_t {
  absent = 1,    // nothing may come into being under this name
  directory = 2, // only a directory made by mkdir, never renamed away (the root's .git)
  kept = 3,      // a file that is there: not written, moved or replaced, but it may be removed
  plain = 4,     // below it only directories and regular files come into being, all of them there
  // Not of one place: what follows the base is relative to the top of every work tree, or of
  // those where .git is a file (tree_programs).
  in_trees = 5,
  in_linked_trees = 6,
};

struct rule {
  rule_kind kind = rule_kind::absent;
  std::string path; // absolute
  // That many bytes of the path are a directory that nothing inside can move or replace
  // (the root of a writable tree): it is opened once and its own names mean nothing.
  std::size_t base_bytes = 0;
};

enum class hit : std::uint8_t {
  none,
  kept,     // may be made where it is not, nothing else
  ancestor, // only mkdir, never renamed away
  guarded,  // nothing
};

class rules {
public:
  // `root`: the sandbox's root directory, kept open by the owner.
  rules(int root, const std::vector<rule>& from);

  // A directory that cannot be looked at counts as guarded.
  hit check(int parent, std::string_view name) const;
  // Is this absolute path (of a directory, as the kernel spells it) at or below a guarded one?
  bool covers(std::string_view path) const;
  // Is this directory, likewise, a plain one or below one?
  bool is_plain(std::string_view path) const;
  // Does the name occur in any protected path?
  bool mentions(std::string_view name) const;

private:
  struct chain {
    int base = -1; // descriptor that the parts start from
    std::vector<std::string> parts;
    hit last = hit::guarded;
  };
  struct pinned {
    inode directory;
    std::string name; // folded
    hit what = hit::none;
  };
  // True when a link was on the way.
  template <class Visit> bool follow(const chain& c, Visit visit, bool* blind = nullptr) const;
  bool pin(const chain& c); // as follow
  int open_base(std::string_view path);
  std::vector<std::string> resolved_as_text(std::string_view path) const;
  bool known(const std::string& folded) const;

  struct base {
    std::string path;
    ipc::unique_fd directory;
  };

  int root_;
  std::vector<base> bases_;
  std::vector<chain> chains_;
  std::vector<std::string> names_; // folded, sorted: all that occur in any chain
  std::vector<pinned> pinned_;
  std::vector<std::string> guarded_; // whole paths, folded, sorted
  std::vector<std::string> plain_;   // likewise
  bool odd_names_ = false;           // some guarded directory may fold more than ASCII
};

// Is writing to it, or giving it another name, refused?
inline bool forbids_writing(hit h) { return h == hit::guarded || h == hit::kept; }

std::string folded(std::string_view name); // ASCII lower case
// A name that a case-insensitive file system may take for a plainer one.
bool is_odd(std::string_view name);
// Does this directory's file system fold names in ways we do not model?
bool folds_names(int directory);

} // namespace piorch::sandbox::guard
