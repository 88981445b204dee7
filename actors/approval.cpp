#include "actors/approval.hpp"

#include "sandbox/network/decision.hpp"

namespace piorch::actors {

namespace {

namespace source = sandbox::network::source;
using pointer = approval_handle::stateful_pointer<approval_state>;

void settle(pointer self, const approval_owner_handle& owner, approval_settled outcome) {
  if (std::exchange(state(self).settled, true))
    return;
  tell(self, owner, std::move(outcome));
  self->quit(); // ends the timer as well
}

std::string unanswered(std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  return "nobody answered the request for approval within " + std::to_string(seconds) +
         (seconds == 1 ? " second" : " seconds");
}

} // namespace

approval_handle::behavior_type approval_actor(pointer self, approval_owner_handle owner,
                                              std::uint64_t id,
                                              std::chrono::milliseconds time_limit) {
  harden(self);
  tell_later(self, time_limit, approval_handle(self), approval_expired{});
  return {
      [=](const approval_answered& a) {
        settle(self, owner, {id, false, {a.allow, a.source, a.reason}});
      },
      [=](approval_withdrawn) {
        settle(self, owner, {id, true, {}});
      },
      [=](approval_expired) {
        settle(self, owner, {id, false, {false, source::timeout, unanswered(time_limit)}});
      },
  };
}

} // namespace piorch::actors
