// The file with the settings of a Git directory D, and how a new text gets into it: checked
// (git_keys), in a new file that nobody else has open, by rename. The files that Git believes
// (state_file) get theirs by the same functions.
//
// Contract: D is an open directory, names are D/config and D/config.lock or those of
// config.worktree. `path` is D's, for the check of submodules. Functions return 0 or -errno;
// with -EACCES `refused` says why, for the report. Any thread; may wait a second, or longer
// on a busy machine, for another sandbox's guard that is at the same directory.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/git_config.hpp"
#include "sandbox/guard/git_file_places.hpp"
#include "sandbox/guard/kernel.hpp"

#include <string>

namespace piorch::sandbox::guard {

inline constexpr const char* only_by_lock = "git config: only through its lock file";

// Held while D/config.lock is created or published; a lock on D itself that works across
// sandboxes. -EEXIST when another one keeps being at it (what Git expects then).
int creation_lock(int directory);

// The whole text of a regular file that is not a link; -EACCES for anything odd or longer.
int read_regular(int directory, const char* name, std::string& text, struct stat& state,
                 std::size_t at_most = config_bytes_at_most);

// Has somebody this file open for writing, or mapped? `fd` is open for reading only. Nobody can
// tell where there are no leases, or when the file is another user's.
enum class writers : std::uint8_t { none, some, unclear };
writers writers_of(int fd);

// Puts the text into a new file of that name, in place of the one that is there, by
// D/`config`.lock: -EEXIST when that is in the way. Under the creation lock.
int renew_file(int directory, const std::string& config, const std::string& text,
               const struct stat& like);

// Renames D/`lock` to D/`config` after the check.
int publish(int directory, const char* lock, const char* config, const std::string& path,
            std::string& refused);

// A file that somebody writes a copy of.
struct copied_file {
  inode file;
  std::string text;
  ipc::unique_fd held; // the file, or its number could soon be that of another one
};
// As if the text had been written to D/`config`. That must still be the file `was`, or hold its
// text (it has been renewed); else nothing happens, as a write to a file that has been replaced
// reaches nobody. `was` is what is there afterwards.
int replace_file(int directory, const std::string& config, const std::string& text,
                 const std::string& path, git_file_places& places, copied_file& was,
                 std::string& refused);

} // namespace piorch::sandbox::guard
