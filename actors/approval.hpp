// The approval actor: one per question. The first answer wins, silence becomes a
// denial when the time is over, a question that no longer matters ends unanswered.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>

namespace piorch::actors {

struct approval_state {
  static inline const char* name = "approval";
  bool settled = false;
};

approval_handle::behavior_type
approval_actor(approval_handle::stateful_pointer<approval_state> self, approval_owner_handle owner,
               std::uint64_t id, std::chrono::milliseconds time_limit);

} // namespace piorch::actors
