// What was found on a machine, and what that means for sandboxes: facts to
// findings. Pure; any thread. The facts are gathered in examine.hpp.
#pragma once

#include "sandbox/facilities.hpp"
#include "sandbox/trial.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct machine_facts {
  bool root = false;
  std::string kernel;       // release
  std::string distribution; // ID and ID_LIKE of os-release

  std::string bwrap;         // path; "": none
  std::string bwrap_version; // "0.8.0"; "": it did not say

  int user_namespace_error = 0;                // of a process that made one
  std::optional<long> max_user_namespaces;     // user.max_user_namespaces
  std::optional<long> unprivileged_namespaces; // kernel.unprivileged_userns_clone
  std::optional<long> apparmor_restricts;      // kernel.apparmor_restrict_unprivileged_userns
  std::vector<std::string> covered_proc;       // mounts over parts of /proc
  std::vector<facility> facilities;
  limit_mechanisms limits;

  std::string settings_file;  // "": the defaults
  std::string settings_error; // why it is not usable
  std::uint64_t processes = 0, memory_mib = 0;

  std::string libexec_dir;
  std::vector<std::string> missing_helpers;         // no sandbox without them
  std::vector<std::string> missing_session_helpers; // no session without them

  struct directory {
    std::string path;
    std::string error; // "": usable
    // When nothing is there:
    bool absent = false;
    std::string absent_parent; // the directory to make; "": it is there, or cannot be made
  };
  directory temp, runtime, state;

  std::string node, node_version; // path; what it said inside a sandbox
  std::string pi, pi_version;     // path; of its package.json

  trial sandbox; // cat /proc/self/status /proc/sys/kernel/pid_max
};

enum class verdict { ok, warning, failed };

struct finding {
  verdict what = verdict::ok;
  std::string name;
  std::string detail;
  std::string remedy; // a command or an instruction; "" for ok
};

// In the order of the report. A sandbox can be made if none of them is `failed`.
std::vector<finding> diagnose(const machine_facts& m);

// "ok    name: detail", and the remedy on a line of its own.
std::string findings_text(const std::vector<finding>& all, bool colour);
std::string findings_json(const std::vector<finding>& all);

} // namespace piorch::sandbox
