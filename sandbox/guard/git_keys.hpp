// Which settings of a repository may be changed from inside a sandbox.
//
// A list of what is known to be harmless, not of what is known to be dangerous: Git
// and the tools around it (LFS, annex, flow, GUIs) know hundreds of keys that run a
// program or read another file, and add more. Everything an ordinary init, clone,
// commit, branch, remote, submodule or worktree command writes is on it. Pure; any thread.
#pragma once

#include "sandbox/guard/git_config.hpp"

namespace piorch::sandbox::guard {

bool is_harmless(const config_entry& e);

// `fresh` without the core.worktree that Git gives a submodule's own directory (`git_dir`,
// absolute, of the directory the text is for): it is found without, by its .git file, and a link
// made later would have the host's Git write to wherever it leads. What is no such value stays.
std::string without_work_tree(std::string_view old, const std::string& fresh,
                              std::string_view git_dir);

// May Git take the ids of a repository with this config for those of SHA-256? With others they are
// those of SHA-1, and without the config, whatever it was. compatObjectFormat does not matter here.
bool may_be_sha256(std::string_view config);

// A work tree's own settings (config.worktree) stand beside those of its repository.
enum class settings_of { repository, work_tree };

// The first setting that `fresh` has and `old` had not, or had otherwise, and that is
// not harmless; empty if there is none. Settings that stay as they were, and removals of
// all values of a key, pass. A text that cannot be read is named "(unreadable)".
//
// core.bare is chosen when the repository is made, and may later become false only.
//
// Git fetches missing objects from a partial clone's remotes in commands like diff: such a
// remote keeps its URL, and in a work tree's settings, which do not say what the repository's
// remotes are, every remote does.
std::string first_refused(std::string_view old, std::string_view fresh,
                          settings_of what = settings_of::repository);

} // namespace piorch::sandbox::guard
