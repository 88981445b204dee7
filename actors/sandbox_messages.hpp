// What is said in a broker process: Asio thread, sandbox, broker, proxy and approvals.
// See messages.hpp.
#pragma once

#include "actors/caf.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/init_protocol.hpp"
#include "sandbox/network/gateway.hpp"
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
// Broker -> sandbox: stop every process (answered by sandbox_held), or continue them.
struct hold_tree {
  bool hold;
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
// Sandbox -> broker: the answer to hold_tree{true}; whether really everything stopped.
struct sandbox_held {
  bool everything;
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

// -- network approvals: Asio thread, proxy actor, one approval actor per question --

// Asio thread -> proxy: a connection that no rule decides; approval_settled comes
// back through proxy_port.
struct connect_asked {
  sandbox::network::ask_request request;
};
// Asio thread -> proxy: that connection is gone; nothing follows.
struct connect_gone {
  std::uint64_t id;
};
// Whoever was shown the question (terminal, orchestrator) -> proxy: an answer. The
// first one counts.
struct connect_answered {
  std::uint64_t id;
  bool allow;
  std::string source; // "terminal", "client" ...
  std::string reason;
};
// Proxy -> approval: an answer; the question no longer matters.
struct approval_answered {
  bool allow;
  std::string source;
  std::string reason;
};
struct approval_withdrawn {};
// Approval -> itself, when nobody answered in time.
struct approval_expired {};
// Approval -> proxy: the outcome, exactly one; the last word of the approval.
struct approval_settled {
  std::uint64_t id;
  bool withdrawn;
  sandbox::network::ask_answer answer;
};

} // namespace piorch::actors
