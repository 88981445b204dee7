// Which settings of a repository may be changed from inside a sandbox.
//
// A list of what is known to be harmless, not of what is known to be dangerous: Git
// and the tools around it (LFS, annex, flow, GUIs) know hundreds of keys that run a
// program or read another file, and add more. Everything an ordinary init, clone,
// commit, branch, remote, submodule or worktree command writes is on it. Pure; any thread.
#pragma once

#include "sandbox/guard/git_config.hpp"

namespace piorch::sandbox::guard {

// `git_dir`: absolute path of the directory the configuration is in; decides whether a
// submodule's core.worktree stays inside its superproject.
bool is_harmless(const config_entry& e, std::string_view git_dir);

// The first setting that `fresh` has and `old` had not, or had otherwise, and that is
// not harmless; empty if there is none. Settings that stay as they were, and removals of
// all values of a key, pass. A text that cannot be read is named "(unreadable)".
std::string first_refused(std::string_view old, std::string_view fresh, std::string_view git_dir);

} // namespace piorch::sandbox::guard
