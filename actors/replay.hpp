// Feeds one follower with the events of a session that has ended, from its
// journal. Ends when everything was sent or nobody wants it any more.
#pragma once

#include "actors/event_lines.hpp"
#include "actors/interfaces.hpp"

namespace piorch::actors {

struct replay_state {
  static inline const char* name = "replay";
  std::string session_id;
  caf::actor follower;
  std::optional<orchestration::event_reader> reader;
  std::size_t on_the_way = 0;
  watches watched;

  // Sends what the window allows. False: there is nothing more.
  bool feed(replay_handle::stateful_pointer<replay_state> self);
};

replay_handle::behavior_type replay_actor(replay_handle::stateful_pointer<replay_state> self,
                                          const std::string& session_id,
                                          std::shared_ptr<orchestration::event_reader> reader,
                                          const caf::actor& follower);

} // namespace piorch::actors
