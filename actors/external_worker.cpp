#include "actors/external_worker.hpp"

#include "config/network_limits.hpp"
#include "config/text.hpp"

namespace piorch::actors {

namespace {

using pointer = external_worker_handle::stateful_pointer<external_worker_state>;

void beat_later(pointer self) {
  auto& s = state(self);
  if (s.beating || s.open.empty() || s.options.heartbeat.count() == 0)
    return;
  s.beating = true;
  tell_later(self, s.options.heartbeat, external_worker_handle(self), heartbeat_due{});
}

void beat(pointer self) {
  auto& s = state(self);
  s.beating = false;
  if (!s.open.empty())
    s.open.begin()->second.send(ipc::write_heartbeat());
  beat_later(self);
}

void ask_desk(pointer self, const worker_asked& asked) {
  auto& s = state(self);
  const auto& frame = asked.frame;
  if (s.open.size() >= limits::pending_approvals)
    return asked.back.send(
        ipc::write_answer(frame.id, false, "",
                          "too many connections of this worker are waiting for approval already"));
  s.open.emplace(frame.id, asked.back);
  auto question = s.options.about;
  question.destination = config::printable(frame.host) + ":" + std::to_string(frame.port);
  tell(self, s.options.desk,
       approval_wanted{frame.id, std::move(question), s.options.time_limit, s.options.owner,
                       caf::actor_cast<caf::actor>(external_worker_handle(self))});
  beat_later(self);
}

void answer(pointer self, const answer_approval& a) {
  auto node = state(self).open.extract(a.id);
  if (!node.empty())
    node.mapped().send(ipc::write_answer(a.id, a.decision.allow, a.decision.source.value_or(""),
                                         a.decision.reason.value_or("")));
}

} // namespace

external_worker_handle::behavior_type external_worker_actor(pointer self,
                                                            external_worker_options options) {
  harden(self);
  state(self).options = std::move(options);
  return {
      [=](const answer_approval& a) { answer(self, a); },
      [=](const worker_asked& asked) { ask_desk(self, asked); },
      [=](worker_over) { self->quit(); }, // the desk watches its askers
      [=](heartbeat_due) { beat(self); },
  };
}

} // namespace piorch::actors
