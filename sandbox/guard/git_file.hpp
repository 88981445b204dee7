// The text of a `.git` file ("gitdir: PATH"), by which Git finds the Git directory of a linked work
// tree, of a submodule or of one that was made with --separate-git-dir. Pure; any thread.
//
// Attack closed here: a text that we and Git read differently. What is put in place is written anew
// from what was read (git_file::text).
#pragma once

#include <string>
#include <string_view>

namespace piorch::sandbox::guard {

struct git_file {
  std::string path; // of the Git directory: absolute, without "." and ".."
  // Number of "../" of a text that may stay relative, as `git submodule` writes it: nothing but
  // these, then `.git` and what is in it. 0: it may not.
  std::size_t levels = 0;
  std::size_t below = 0; // number of components behind them

  std::string text() const; // what the file gets
};

inline constexpr std::size_t git_file_bytes_at_most = 8192;
// Of the path of a `.git` file: what is on the way is watched, name by name.
inline constexpr std::size_t git_file_names_at_most = 64;
// Of all that one sandbox has to watch.
inline constexpr std::size_t watched_names_at_most = 8192;

// The path as Git reads it, whoever wrote the text: blanks at its end are part of it. Empty: none.
std::string_view path_in_git_file(std::string_view text);
// Likewise in the files that hold nothing but a path (commondir, gitdir).
std::string_view path_in_pointer(std::string_view text);

// `directory` is the path of the one that holds the file. False if the text is not as Git writes
// it.
bool read_git_file(std::string_view text, std::string_view directory, git_file& out);

} // namespace piorch::sandbox::guard
