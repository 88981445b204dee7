// Everything that actors say to each other. Commands are imperative
// (end_sandbox), facts are past (sandbox_started). A line each: who says it, and
// what follows. Nothing here crosses a process boundary, so plain structs do.
#pragma once

#include "actors/caf.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/init_protocol.hpp"
#include "sandbox/run.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace piorch::actors {

// Descriptors travel in a shared_ptr: messages must be copyable.
using shared_fds = std::shared_ptr<std::vector<ipc::unique_fd>>;

// -- the broker process: Asio thread, sandbox actor, broker actor ----------------

// Asio thread -> sandbox: piorch-init said something.
struct init_said {
  sandbox::init::header what;
  std::string text;
  shared_fds fds;
};
// Asio thread -> sandbox: no process is left. Always the last word.
struct tree_gone {
  std::string diagnostics; // bubblewrap's own
};
// Broker -> sandbox: end it, first with SIGTERM, then for good.
struct end_sandbox {
  sandbox::end_reason why;
};
// Broker -> sandbox: deliver a signal to the command.
struct deliver_signal {
  int number;
};
// Broker -> sandbox: continue a stopped command.
struct resume_command {
  bool foreground;
};
// Sandbox -> itself, after run::grace and after the command's time limit.
struct grace_over {};
struct time_limit_reached {};

// Sandbox -> broker: the command runs.
struct sandbox_started {
  std::uint64_t monotonic_us;
};
// Sandbox -> broker: the listening sockets of the sandbox's network namespace.
struct sandbox_listening {
  shared_fds fds;
};
// Sandbox -> broker: the command was stopped by terminal job control.
struct sandbox_stopped {
  int signal;
};
// Sandbox -> broker: a path was refused to the command.
struct path_refused {
  std::string path;
  std::string rule;
};
// Sandbox -> broker: nothing is alive any more; clean up.
struct sandbox_ended {
  sandbox::outcome how;
};

} // namespace piorch::actors

CAF_BEGIN_TYPE_ID_BLOCK(piorch, caf::first_custom_type_id)
// the broker process
CAF_ADD_TYPE_ID(piorch, (piorch::actors::init_said))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::tree_gone))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::end_sandbox))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::deliver_signal))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::resume_command))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::grace_over))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::time_limit_reached))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_started))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_listening))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_stopped))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::path_refused))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_ended))
CAF_END_TYPE_ID_BLOCK(piorch)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::init_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::tree_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::end_sandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::deliver_signal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::resume_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::grace_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::time_limit_reached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_listening)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_stopped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::path_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_ended)
