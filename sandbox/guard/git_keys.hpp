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

// A work tree's own settings (config.worktree) stand beside those of its repository.
enum class settings_of { repository, work_tree };

// The first setting that `fresh` has and `old` had not, or had otherwise, and that is
// not harmless; empty if there is none. Settings that stay as they were, and removals of
// all values of a key, pass. A text that cannot be read is named "(unreadable)".
//
// Git fetches missing objects from a partial clone's remotes in commands like diff: such a
// remote keeps its URL, and in a work tree's settings, which do not say what the repository's
// remotes are, every remote does.
std::string first_refused(std::string_view old, std::string_view fresh, std::string_view git_dir,
                          settings_of what = settings_of::repository);

} // namespace piorch::sandbox::guard
