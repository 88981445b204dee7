// The files in a Git directory D that the host's Git believes: indexes, references, the list of
// conflicts and their recorded resolutions (rerere). What they name is written or read by the
// host's next checkout or commit (git_index, git_state), so only a harmless text gets there.
//
//   D/index, HEAD, *_HEAD, MERGE_RR, the same in D/worktrees/NAME, and all below D/refs
//       by rename: what is renamed is copied, checked, and the copy, which nobody has open,
//       takes the name; who makes it by an open gets a copy like that of a config
//       (staged_files), and what is there is never opened for writing; no second name, no
//       link, and no directory is moved to where they are
//   D/config
//       says how D/index and D/worktrees/NAME/index are read; becomes one of SHA-256 only if they
//       are harmless for it. Whoever puts one of them in place holds the creation_lock of D
//   X.lock of each
//       is made, opened, moved and replaced under creation_lock only: it is the name under
//       which a checked copy is made; no second name
//   MERGE_RR
//       stays empty, whatever is written: at the next commit the host's rerere would copy each
//       file of the work tree that it names, or write it, also where it is a link by then
//   D/rr-cache/ID/postimage…
//       none comes into being: rerere writes such a text to the work tree. Directories come
//       there by mkdir only
//   D/worktrees/NAME/HEAD, made by an open
//       is Git's own placeholder, whatever is written to the descriptor
//
// A file called `.git` in any directory is one as well, by which Git finds D. Its text is checked
// where it gets to (git_file_places). What is there is opened for writing as a copy, too: Git
// does so, and the copy is in place before the next call is served. So is D/AUTO_MERGE, which Git
// writes anew in each merge.
//
// Any thread.
#pragma once

#include "sandbox/guard/git_dir.hpp"
#include "sandbox/guard/git_file_places.hpp"

#include <string>
#include <string_view>

namespace piorch::sandbox::guard {

enum class state_file : std::uint8_t { none, index, reference, conflicts, resolution, git_file };

inline constexpr const char* only_harmless_state =
    "git state: only as a file of its own, by rename or by writing it";
inline constexpr const char* no_resolution =
    "git rerere: a resolution that the host's Git would write";

// May `name` in the directory of that path be one? Without a look at the file system.
bool may_be_state_file(std::string_view path, std::string_view name);

// What D/.../name is; `parent` is the directory, `path` its path, empty when it cannot be told.
state_file state_file_of(int parent, std::string_view path, std::string_view name);

// What of a name that is one.
verdict judge_state(int parent, std::string_view path, std::string_view name, deed what,
                    const char*& why);

// Does a directory of this name in this place hold such files? Then none is moved there.
bool holds_state_files(int parent, std::string_view path, std::string_view name);

std::size_t most_bytes(state_file kind); // of `none`: a file with settings

// May the file in this directory get this text? 0, or -EACCES and `refused`. Of a git_file and of
// conflicts `text` is what it gets then.
int check_state(state_file kind, int directory, git_file_places& places, std::string& text,
                std::string& refused);

// Renames from/`name` to directory/`to` after the check. 0 or -errno; with -EACCES `refused` says
// why. Takes the creation_lock.
int publish_state(state_file kind, int from, const char* name, int directory, const char* to,
                  git_file_places& places, std::string& refused);

// Are all of them in D, which is becoming a Git directory, harmless? Each is put into a new file
// that nobody has open. 0, or -EACCES and `refused`.
int check_state_files(int directory, std::string& refused);
// The same of D/`name`, a directory of references that is about to be called refs.
int check_references(int directory, const char* name, std::string& refused);

} // namespace piorch::sandbox::guard
