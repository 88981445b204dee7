// What one sandbox may read and write, as a value with a reason for every entry
// (contract, section 7). Made from the trusted settings and a look at the
// machine; nothing is changed and nothing is started. Any thread.
#pragma once

#include "config/result.hpp"
#include "config/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace piorch::sandbox {

enum class access {
  hide,    // an empty, read-only directory is seen instead
  own,     // a writable directory of this sandbox alone is seen instead (`source`: its name)
  read,    // visible inside a hidden directory
  write,   // writable
  pin,     // inside a writable tree: can be neither renamed nor removed
  protect, // inside a writable tree: cannot be written either
};

const char* name_of(access what);

struct rule {
  access what = access::read;
  std::string path;    // absolute, as the sandbox sees it
  std::string source;  // where the content comes from, if a link leads elsewhere; else empty
  std::string reason;  // for people
  bool present = true; // false: no such path now
  bool in_git = false; // of a Git directory: the create guard recognises those by themselves
  // Left to the create guard: a directory above another rule's path, and what may be removed
  // with the nested repository that it belongs to. Only walls without a guard need a mount
  // there, across which nothing can be renamed or removed.
  bool by_guard = false;
  // Of what is written: programs of the host write and read there too, following links, so that
  // the create guard lets only directories and regular files come into being in it.
  bool plain = false;
};

// What the host's Git would run or read in every work tree of a repository.
struct tree_program {
  std::string path;    // relative to the top of the tree; "" for what would lie above it
  bool linked = false; // a repository's own setting: only in trees whose .git is a file
  std::string reason;  // for people
};

struct policy {
  std::string workspace; // canonical
  std::string temp_dir;  // the host's; the private one is made below it (scratch_parent)
  // In the order in which they apply: a later entry decides over an earlier one.
  std::vector<rule> rules;
  std::vector<tree_program> tree_programs; // the create guard keeps them out of work trees
  config::settings settings; // network, limits and the rest, as far as the sandbox needs them
};

// A directory of the host in whose place a sandbox sees one of its own, made below its private
// temporary directory and removed at its end.
struct own_directory {
  std::string path; // absolute, canonical
  std::string name; // below the private directory
  std::string reason;
};

// What one command needs besides, and what it must not have though others may.
struct policy_extras {
  std::vector<own_directory> own;
  std::vector<rule> rules;    // read, write, or protect: of what lies in writable trees
  bool git_read_only = false; // the repository of a linked worktree or submodule is not written

  // TMPDIR keeps its name: programs inside and outside compute the same paths from it.
  bool keeps_temp_dir(const std::string& temp_dir) const;
};

// What the policy of a directory depends on besides the settings.
struct policy_inputs {
  std::string workspace;                  // any spelling of a directory
  std::vector<std::string> homes;         // HOME, and the user database's if it differs
  std::string temp_dir;                   // the host's
  std::string agent_dir;                  // Pi's
  std::string state_dir;                  // ours, of the journal; both are hidden like a home
  std::vector<std::string> trusted_files; // the places of the trusted configuration
  std::string libexec_dir;                // our helpers
  std::string program;                    // this executable
  std::string search_path;                // the caller's PATH: where Node.js and Pi are looked for
  std::vector<std::string> additional_read; // of the command line
  // Directories for temporary files in which no private one could be made: not seen at all, since
  // what other sandboxes make there later could not be hidden.
  std::vector<std::string> closed_temp_dirs;
  policy_extras extras;
};

// Everything but the names inside the writable trees, which survey_workspace
// (survey.hpp) adds: they take a walk, and a sandbox can be on its way meanwhile.
// Refuses directories that cannot be a workspace (failure::usage).
result<policy> make_policy(const config::settings& settings, const policy_inputs& from);

} // namespace piorch::sandbox
