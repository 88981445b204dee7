// The remote_broker actor: stands for one broker process in the orchestrator. Its
// owner (a command or a session) hears what the process says; the process ends
// with its owner.
#pragma once

#include "actors/interfaces.hpp"

#include <functional>
#include <optional>
#include <string>

namespace piorch::actors {

// The line to one broker process; callable from any thread, also after its end.
struct broker_line {
  std::function<void(ipc::frame_type, std::string)> send;
  std::function<void(std::string)> input;
  std::function<void()> close_input;
  std::function<void(std::size_t)> grant;
  std::function<void()> kill;        // the process; its tree goes with it
  std::function<void()> hang_up;     // it ends its tree and itself
  std::function<std::int64_t()> pid; // of the process; 0: none; may be empty
};
// Starts one; it reports to the actor with broker_frame and, once, broker_gone.
using broker_starter = std::function<broker_line(remote_broker_handle, std::string job)>;

struct remote_broker_state {
  static inline const char* name = "remote_broker";
  broker_line line;
  watches owners;
  std::optional<broker_ended> end; // reported, the process is not gone yet
  bool stopping = false;
  // Whatever ends this actor ends the process.
  ~remote_broker_state() {
    if (line.hang_up)
      line.hang_up();
  }
};

// `job` is sandbox::job_text.
remote_broker_handle::behavior_type
remote_broker_actor(remote_broker_handle::stateful_pointer<remote_broker_state> self,
                    broker_owner_handle owner, broker_starter start, std::string job);

} // namespace piorch::actors
