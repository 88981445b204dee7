// Git directories, recognised by what they are and not by where they are: a directory
// with `objects` and `refs` is one, at whatever depth, under whatever name, made before
// or during the command. Wherever one is, nothing can be planted in it that makes
// the host's Git run a program or read its settings from elsewhere.
//
// What holds in a Git directory D:
//   D/config            only by rename from D/config.lock, its text checked (git_keys) and
//                       put into a new file that nobody has open (publish); who opens it for
//                       writing gets a copy, which is published when it is closed
//   D/config.lock       only by an open that creates it; never opened for writing again
//   D/hooks             only by mkdir, never moved, and in it only names that end in .sample;
//                       no hook gets a second name, by which it could be written
//   D/remotes, branches only by mkdir, and nothing in them: each file names a URL, and
//                       some URLs name programs
//   config.worktree[.lock]  as config, everywhere
//   commondir           everywhere: only in G/worktrees/NAME of a Git directory G, and its text
//                       is always "../..", whatever is written to the descriptor
//   index, HEAD, refs/… see state_file
//   .git                everywhere: a directory made by mkdir, or moved there and found harmless; a
//                       file whose text leads to where the guard watches (git_file_places)
//   objects, refs       each alone, with no other deed at the same time; the later of the two,
//                       which turns D into a Git directory, only if what is there already would
//                       have been allowed, and D/config is renewed
//
// Why: Git takes a directory for its own only with both objects and refs (or, of a linked
// worktree, with a commondir that leads to one). unlink and rmdir are not notified: taking
// one of the two away makes the directory useless to Git too, and its return is checked.
//
// Another sandbox in the same workspace may work with this one. Its guard follows
// the same rules, so between publish's new config.lock and the rename nobody can put
// another file there (creating one needs the lock on D that publish holds) or open it for
// writing; unlinking it only makes the rename fail. Checks that cannot be covered by a
// lock are repeated after the deed, which is undone if the directory has changed its nature.
//
// Any thread.
#pragma once

#include "sandbox/guard/kernel.hpp"

#include <string>
#include <string_view>

namespace piorch::sandbox::guard {

// How a name is about to come into being, or what else is about to happen to it.
enum class deed : std::uint8_t {
  create, // open with O_CREAT, name absent
  write,  // open for writing or truncation, name present
  make_directory,
  make_other, // mknod, symlink, link, bind: the new name
  move_here,  // rename: the new name
  move_away,  // rename: the old name
  link_from,
};

// The names with a meaning in Git directories.
enum class git_name : std::uint8_t {
  none,
  config,
  config_lock,
  worktree_config,
  worktree_config_lock,
  common_dir,
  hooks,
  remotes, // and branches: the old places of remotes' URLs
  objects,
  refs,
};
git_name git_name_of(std::string_view name);

enum class verdict : std::uint8_t {
  allow,
  refuse,
  lock,    // create, or open, under creation_lock
  decoy,   // create by make_decoy
  publish, // rename by publish, or publish_state
  stage,   // open a copy (staged_files)
  convert, // do it alone, by the rules of becomes_git_dir
};

// What of D/name. Looks at the file system; `why` names the rule when it is refused. `path`
// is D's as the kernel tells it, empty when it cannot be told: what D is called decides
// whether anything has to be looked at.
verdict judge(int parent, std::string_view path, std::string_view name, deed what,
              const char*& why);

// The answer does not depend on the name alone: judge again after the deed. `path` is D's now.
bool depends_on_surroundings(std::string_view path, std::string_view name);

bool is_git_dir(int directory);

// Is D, whose path is `path`, a Git directory or below one? Git of the host writes there by name
// (logs/HEAD, COMMIT_EDITMSG) and would write through a link that is planted, so only files and
// directories come into being. A directory called .git counts whatever is in it.
bool is_below_dot_git(std::string_view path); // by its name alone
bool is_in_git_dir(int directory, std::string_view path);

// The one link that may be there: Git makes tXXXXXX to find out whether there are links. A link to
// `config` or to a hook would be written through as one that leads out, and one called `refs` would
// have another place for what is checked there.
bool is_trial_link(std::string_view name, std::string_view target);

// Creates parent/`name` (commondir, a work tree's HEAD) with the only text it may have and returns
// a descriptor of a nameless file opened with `flags` for the caller to write to; -errno.
int make_decoy(int parent, const std::string& name, int flags, mode_t mode);

// What makes a Git directory: has D, when `name` (objects or refs) comes, the other one?
bool has_objects_and_refs(int directory);
bool has_the_other(int directory, std::string_view name);

// Is everything in D such that D may become a Git directory? Renews D/config.
// 0, or -EACCES and `refused` says what.
int becomes_git_dir(int directory, const std::string& path, std::string& refused);

bool is_dot_git(std::string_view name);
// What Git reads in work trees by its name: .git itself, .gitignore, .gitattributes, .mailmap …
bool is_read_in_trees(std::string_view name);

// May parent/name, a directory, be called .git from now on? As becomes_git_dir, which has been
// asked already when it is a Git directory. `path` is parent's.
int may_be_dot_git(int parent, const std::string& name, const std::string& path,
                   std::string& refused);

} // namespace piorch::sandbox::guard
