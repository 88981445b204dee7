// The proxy actor: asks on behalf of one sandbox's gateway. What is decided by
// rules never comes here; the gateway itself works on the Asio thread.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <functional>
#include <map>

namespace piorch::actors {

// The process around it; callable from any thread.
struct proxy_port {
  // Show a question to whoever can answer; connect_answered comes back.
  std::function<void(const sandbox::network::ask_request&)> show;
  // It is answered or no longer matters: do not show it any more.
  std::function<void(std::uint64_t id)> hide;
  // The gateway's call-back for that question.
  std::function<void(std::uint64_t id, sandbox::network::ask_answer)> answer;
};

struct proxy_state {
  static inline const char* name = "proxy";
  struct open_question {
    sandbox::network::ask_request request;
    approval_handle approval;
  };
  std::map<std::uint64_t, open_question> open; // at most limits::pending_approvals
  watches approvals;
};

proxy_handle::behavior_type proxy_actor(proxy_handle::stateful_pointer<proxy_state> self,
                                        proxy_port port, std::chrono::milliseconds time_limit);

} // namespace piorch::actors
