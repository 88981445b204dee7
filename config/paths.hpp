// Where things are: the user's directories, the trusted files, our own helpers.
// Computed once from the environment; nothing here depends on the current
// directory or on PATH, which a project could influence. Any thread.
#pragma once

#include "config/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace piorch::config {

// Everything the paths depend on. An unset variable is nullopt.
struct path_inputs {
  std::optional<std::string> home;        // HOME
  std::optional<std::string> agent_dir;   // PI_CODING_AGENT_DIR
  std::optional<std::string> runtime_dir; // XDG_RUNTIME_DIR
  std::optional<std::string> state_home;  // XDG_STATE_HOME
  std::optional<std::string> temp_dir;    // TMPDIR
  std::string passwd_home;       // of the user database, also when HOME is set; may be empty
  uid_t uid = 0;                 // effective
  bool run_user_is_ours = false; // /run/user/UID is a directory of this user
};

// Absolute and lexically normal, without a trailing slash. Nothing is created
// and no link is followed: see private_directory.hpp for that.
struct paths {
  std::string home;
  std::string agent_dir;       // Pi's: PI_CODING_AGENT_DIR, else ~/.pi/agent
  std::string settings_file;   // always below ~/.pi/agent: an environment that a
  std::string legacy_settings; // project sets up cannot point piorch elsewhere
  std::string runtime_dir;     // ours, for sockets: …/piorch or TEMP/piorch-UID
  std::string state_dir;       // ours, for the journal
  std::string temp_dir;        // the host's, which private temp dirs are made in
};

// Reads the environment and the user database of this process.
path_inputs read_path_inputs();

// The agent directory that a value of PI_CODING_AGENT_DIR means: absolute, or below
// the home with a leading ~, as Pi takes it. Anything else would depend on a current
// directory, which a project has a say in: failure::configuration_invalid.
result<std::string> agent_directory(const std::string& value, const std::string& home);

// Fails (failure::configuration_invalid) when there is no home directory or when
// HOME or PI_CODING_AGENT_DIR is not one. The XDG variables and TMPDIR are
// ignored when they are not absolute, as the XDG specification asks.
result<paths> resolve_paths(const path_inputs& from);

// Where the helpers of the program at `exe_path` are installed: ../libexec/piorch
// from its directory, or that directory itself when it is a helper. The build tree
// has the same layout.
std::string libexec_dir(std::string_view exe_path);

// The same for this process, by /proc/self/exe.
result<std::string> own_libexec_dir();

} // namespace piorch::config
