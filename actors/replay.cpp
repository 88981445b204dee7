#include "actors/replay.hpp"

namespace piorch::actors {

bool replay_state::feed(replay_handle::stateful_pointer<replay_state> self) {
  while (on_the_way < limits::follower_window_bytes) {
    auto piece = read_piece(session_id, *reader);
    if (piece.empty())
      return false;
    on_the_way += piece.lines.size();
    tell(self, caf::actor_cast<follower_handle>(follower),
         session_events{session_id, std::move(piece.lines)});
  }
  return true;
}

replay_handle::behavior_type replay_actor(replay_handle::stateful_pointer<replay_state> self,
                                          const std::string& session_id,
                                          std::shared_ptr<orchestration::event_reader> reader,
                                          const caf::actor& follower) {
  auto& s = state(self);
  s.session_id = session_id;
  s.follower = follower;
  s.reader = std::move(*reader);
  s.watched.add(self, follower, [self](const caf::error&) { self->quit(); });
  if (!s.feed(self))
    self->quit();
  return {
      [=](const events_taken& m) {
        auto& mine = state(self);
        mine.on_the_way -= std::min(mine.on_the_way, m.bytes);
        if (!mine.feed(self))
          self->quit();
      },
      [=](const unfollow_session& m) {
        if (m.follower == state(self).follower && m.session_id == state(self).session_id)
          self->quit();
      },
  };
}

} // namespace piorch::actors
