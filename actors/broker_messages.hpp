// What is said between a broker process's stand-in in the orchestrator and its owner. See
// messages.hpp.
#pragma once

#include "actors/caf.hpp"
#include "config/result.hpp"
#include "ipc/channel_frame.hpp"
#include "ipc/protocol.hpp"
#include "sandbox/run.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace piorch::actors {

// -- the orchestrator: a remote_broker per broker process, its owner (a command or
//    a session) and the Asio thread ------------------------------------------------

// Owner -> remote_broker: bytes for the command's standard input, in order; and
// its end.
struct send_input {
  std::string bytes;
};
struct close_input {};
// Owner -> remote_broker: so many bytes of broker_output are done with. Without it
// the broker stops reading from the command (limits::channel_window_bytes).
struct grant_output {
  std::size_t bytes;
};
// Owner -> remote_broker: end the process tree; broker_ended follows.
struct stop_broker {};
// Desk -> whoever asked: the answer. `id` is the asker's own.
struct answer_approval {
  std::string id;
  ipc::approval_decision decision;
};

// remote_broker -> owner: the command has been executed.
struct broker_started {};
// remote_broker -> owner: output of the command; to be granted again.
struct broker_output {
  bool is_stderr;
  std::string bytes;
};
// remote_broker -> owner: network_event, refused_file, approval_ask, approval_cancel.
struct broker_event {
  ipc::frame_type what;
  std::string json;
};
// remote_broker -> owner: nothing of it is alive any more and nothing is left.
// Always the last word. `problem`: it could not be run, or the broker was lost.
struct broker_ended {
  sandbox::outcome how;
  std::vector<ipc::network_entry> network;
  std::vector<ipc::refused_path> refused_paths;
  std::chrono::milliseconds duration{0};
  std::optional<error> problem;
};

// Asio thread -> remote_broker.
struct broker_frame {
  ipc::frame_type what;
  std::string payload;
};
struct broker_gone { // the channel has ended and the process is reaped
  std::string why;
};
// remote_broker -> itself: the broker had its time to end by itself.
struct broker_overdue {};

} // namespace piorch::actors
