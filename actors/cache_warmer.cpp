#include "actors/cache_warmer.hpp"

namespace piorch::actors {

using orchestration::compile_cache;

namespace {
constexpr std::size_t tail_bytes = 4096; // a short line is looked for
} // namespace

broker_owner_handle::behavior_type
cache_warmer_actor(broker_owner_handle::stateful_pointer<cache_warmer_state> self,
                   const std::shared_ptr<warming>& work, const broker_starter& start,
                   const caf::actor& supervisor) {
  harden(self);
  auto& s = state(self);
  const auto give_up = [self, work] {
    compile_cache::drop(work->made);
    self->quit(); // its broker watches us
  };
  s.watched.add(self, supervisor, [give_up](const caf::error&) { give_up(); });
  s.broker = self->spawn(remote_broker_actor, broker_owner_handle(self), start, work->job);
  s.watched.add(self, s.broker, [give_up](const caf::error&) { give_up(); });
  return {
      [=](const broker_started&) {
        tell(self, state(self).broker, send_input{compile_cache::first_line()});
      },
      [=](const broker_output& m) {
        auto& mine = state(self);
        tell(self, mine.broker, grant_output{m.bytes.size()});
        mine.tail += m.bytes;
        if (!mine.through && compile_cache::is_last_line(mine.tail)) {
          mine.through = true;
          tell(self, mine.broker, close_input{}); // it writes the cache as it leaves
        }
        if (mine.tail.size() > tail_bytes)
          mine.tail.erase(0, mine.tail.size() - tail_bytes);
      },
      [=](const broker_event&) {},
      [=](const broker_ended& m) {
        if (!m.problem && m.how.signal == 0 && m.how.exit_code == 0 && state(self).through)
          (void)work->cache.keep(work->made); // the next session tries again
        else
          compile_cache::drop(work->made);
        self->quit();
      },
  };
}

} // namespace piorch::actors
