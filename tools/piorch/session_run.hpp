// Waits for a run on behalf of a person: shows what goes on, asks for connections, passes
// Ctrl-C on (once: abort the run, twice: stop the session), prints the text. Main thread.
#pragma once

#include "ipc/start_instance.hpp"
#include "tools/piorch/options.hpp"

#include <string>
#include <string_view>

namespace piorch::cli {

struct run_options {
  bool background = false;
  bool json = false;
  bool stays = false;  // the session outlives its task: say how to go on
  bool asks = false;   // `at` says that we answer requests for approval
  std::string session; // known already, else learnt from the first event
};

// Sends `call` (start, followUp, handoff or wait) and sees it through. The exit
// status of the command.
int run_session_call(std::string_view command, ipc::connected& at, const ipc::rpc_call& call,
                     const run_options& options);

// The words of the command line as one task; "-" alone: standard input.
result<std::string> task_from(const arguments& words);

} // namespace piorch::cli
