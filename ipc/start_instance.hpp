// Connecting to the user's default orchestrator, and starting one if there is
// none: a lock so that only one caller starts it, a pipe on which it says whether
// it serves or why not, a bounded wait. No CAF, no thread.
#pragma once

#include "ipc/client.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace piorch::ipc {

struct start_options {
  std::string program;                  // absolute
  std::vector<std::string> args;        // after argv[0]; "--ready-fd 3" is added
  std::vector<std::string> environment; // NAME=VALUE; see service_environment()
  std::string log_file;                 // its stderr; empty: /dev/null
  std::chrono::milliseconds limit{10000};
};

// A connected client that has been answered to `initialize` (who). Or
// failure::unreachable with the reason the orchestrator gave.
struct connected {
  client peer;
  initialize_result server;
};
result<connected> connect_or_start(const instance_directory& dir, const start_options& options,
                                   const initialize_params& who);
// The same without starting anything.
result<connected> connect_to(const instance_directory& dir, const std::string& name,
                             const initialize_params& who, std::chrono::milliseconds limit);

// Every instance that answers within `limit` (each), "default" first.
std::vector<connected> connect_to_all(const instance_directory& dir, const initialize_params& who,
                                      std::chrono::milliseconds limit);

// What of our environment a service of this user needs; the rest belongs to the
// command that happened to start it (secrets, BASH_ENV, a project's settings).
std::vector<std::string> service_environment();

// Server side: one line on the ready pipe. An empty reason: we serve.
void report_ready(int fd, const std::string& reason);

} // namespace piorch::ipc
