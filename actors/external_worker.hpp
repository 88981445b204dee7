// The external worker actor: one per worker of pi-subagents that has signed in. Asks the desk on
// its behalf, and tells its wrapper meanwhile that somebody is still here. Its questions end
// with it.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <map>
#include <string>

namespace piorch::actors {

struct external_worker_options {
  approval_desk_handle desk;
  orchestration::approval_question about; // destination still empty
  std::chrono::milliseconds time_limit{0};
  caf::actor owner;                  // the client that is to answer
  std::chrono::seconds heartbeat{0}; // 0: its wrapper knows none
};

struct external_worker_state {
  static inline const char* name = "external_worker";
  external_worker_options options;
  std::map<std::string, worker_link_port> open; // by frame id; at most limits::pending_approvals
  bool beating = false;
};

external_worker_handle::behavior_type
external_worker_actor(external_worker_handle::stateful_pointer<external_worker_state> self,
                      external_worker_options options);

} // namespace piorch::actors
