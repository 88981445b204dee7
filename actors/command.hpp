// The command actor: one command.run of a client. Owns the command's broker and
// ends with it; a client that is gone takes its commands along.
#pragma once

#include "actors/approval_desk.hpp"
#include "actors/remote_broker.hpp"

namespace piorch::actors {

struct command_state {
  static inline const char* name = "command";
  remote_broker_handle broker;
  watches neighbours;
  bool cancelled = false;
};

command_handle::behavior_type command_actor(command_handle::stateful_pointer<command_state> self,
                                            client_handle client, ipc::command_run_params what,
                                            broker_starter start, approval_desk_handle desk);

} // namespace piorch::actors
