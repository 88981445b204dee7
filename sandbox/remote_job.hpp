// What an orchestrator asks of a broker process, and what that reports at the
// end: the JSON of the channel's job, exit_report and failed frames. Pure.
#pragma once

#include "config/result.hpp"
#include "sandbox/private_files.hpp"
#include "sandbox/report.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

struct remote_job {
  std::vector<std::string> arguments;      // the command; looked up in the sandbox's PATH
  std::vector<std::string> environment;    // NAME=VALUE, before prepare_for_sandbox
  std::string directory;                   // absolute; the workspace
  std::string command;                     // one line for people and approvals
  std::chrono::milliseconds time_limit{0}; // 0: none
  bool has_input = false;                  // else the command reads /dev/null
  bool ask = false;                        // somebody may be asked for approvals
  bool on_host = false;                    // without a sandbox: somebody has approved exactly this
  std::string session_id;                  // empty: a command of its own
  std::string command_id;                  // of such a one
  std::vector<std::string> readable;       // shown besides what the policy shows
  private_files files;                     // for this command alone
};

std::string job_text(const remote_job& job);
result<remote_job> read_job(std::string_view text);

// An exit_report is report_json(); what an orchestrator needs of it:
struct remote_report {
  outcome how;
  std::chrono::milliseconds duration{0};
  std::vector<network_entry> network;
  std::vector<refused_entry> refused_paths;
};
result<remote_report> read_report(std::string_view text);

// A refused_file frame.
std::string refused_text(const refused_entry& r);
result<refused_entry> read_refused(std::string_view text);
// A network_event frame.
result<network_entry> read_entry(std::string_view text);

// A failed frame: nothing was run, and why.
std::string failure_text(const error& why);
error read_failure(std::string_view text);

} // namespace piorch::sandbox
