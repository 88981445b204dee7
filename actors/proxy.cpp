#include "actors/proxy.hpp"

#include "actors/approval.hpp"
#include "config/network_limits.hpp"

namespace piorch::actors {

namespace {

namespace network = sandbox::network;
using pointer = proxy_handle::stateful_pointer<proxy_state>;

void open(pointer self, const proxy_port& port, const connect_asked& asked,
          std::chrono::milliseconds time_limit) {
  auto& s = state(self);
  const auto id = asked.request.id;
  if (s.open.size() >= limits::pending_approvals) {
    port.answer(id, {false, network::source::too_many,
                     "too many connections of this sandbox are waiting for approval already"});
    return;
  }
  const auto approval =
      self->spawn(approval_actor, approval_owner_handle(proxy_handle(self)), id, time_limit);
  s.open.emplace(id, proxy_state::open_question{asked.request, approval});
  // An approval that crashed must not leave its connection waiting for ever.
  s.approvals.add(self, approval, [=](const caf::error& why) {
    if (why && state(self).open.erase(id) != 0) {
      port.hide(id);
      port.answer(id, {false, network::source::nobody, "internal error in the approval actor"});
    }
  });
  port.show(asked.request);
}

void settled(pointer self, const proxy_port& port, const approval_settled& outcome) {
  auto& s = state(self);
  const auto at = s.open.find(outcome.id);
  if (at == s.open.end())
    return;
  const auto to = at->second.request.to;
  s.open.erase(at);
  port.hide(outcome.id);
  if (outcome.withdrawn)
    return;
  port.answer(outcome.id, outcome.answer);
  if (outcome.answer.allow)
    return;
  // A no to one of several connections to the same place is a no to all of them:
  // nobody wants to say it sixteen times to a package manager.
  for (const auto& [id, question] : s.open)
    if (question.request.to == to)
      tell(self, question.approval,
           approval_answered{false, outcome.answer.source, outcome.answer.reason});
}

} // namespace

proxy_handle::behavior_type proxy_actor(pointer self, proxy_port port,
                                        std::chrono::milliseconds time_limit) {
  harden(self);
  const auto question = [=](std::uint64_t id) {
    const auto at = state(self).open.find(id);
    return at == state(self).open.end() ? nullptr : &at->second;
  };
  return {
      [=](const connect_asked& asked) { open(self, port, asked, time_limit); },
      [=](const connect_gone& gone) {
        if (auto* q = question(gone.id))
          tell(self, q->approval, approval_withdrawn{});
      },
      [=](const connect_answered& a) {
        if (auto* q = question(a.id))
          tell(self, q->approval, approval_answered{a.allow, a.source, a.reason});
      },
      [=](const approval_settled& outcome) { settled(self, port, outcome); },
  };
}

} // namespace piorch::actors
