// The broker actor: owns one sandbox from its start to the last clean-up. What
// it cannot do itself (files, terminal, leaving the process) it asks of its
// process through broker_port.
#pragma once

#include "actors/sandbox.hpp"

#include <functional>

namespace piorch::actors {

// The process around the broker; callable from any thread.
struct broker_port {
  std::function<void(std::uint64_t monotonic_us)> started;
  std::function<void(shared_fds)> listening;
  std::function<void(int signal)> stopped;
  std::function<void(bool everything)> held; // may be empty where nobody asks for hold_tree
  std::function<void(const path_refused&)> refused;
  std::function<void(sandbox::outcome)> ended; // remove what is left, then leave
};

struct broker_state {
  static inline const char* name = "broker";
  sandbox_handle sandbox;
  watches children;
  bool ended = false;
};

broker_handle::behavior_type broker_actor(broker_handle::stateful_pointer<broker_state> self,
                                          broker_port port, tree_control control,
                                          std::chrono::milliseconds time_limit,
                                          std::function<void(sandbox_handle)> ready);

} // namespace piorch::actors
