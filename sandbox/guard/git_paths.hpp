// Whether a path in one of Git's state files stays in the work tree and out of its Git
// directory, as Git's verify_path() has it for what it takes from trees. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace piorch::sandbox::guard {

// `.git`, in any case, and what file systems take for it: `git~1`, dots, blanks or ":stream"
// behind it (NTFS), characters that are not compared (HFS+).
bool is_taken_for_dot_git(std::string_view component);

enum class path_kind {
  plain,
  strange, // an empty component, ".", a zero byte, a component longer than any file's name
  outside, // absolute, or through ".." or ".git"
};

// A backslash divides components too. The first `known` bytes may begin a path that was
// plain: only what changed is looked at.
path_kind kind_of_path(std::string_view path, std::size_t known = 0);

} // namespace piorch::sandbox::guard
