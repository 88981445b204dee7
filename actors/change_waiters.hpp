// Clients that wait for the next change of a list ({"after": revision}). Each waits
// with one request, is answered once and asks again, so that a slow one costs
// nothing and misses no state. Part of the state of the actor that keeps the list.
#pragma once

#include "actors/caf.hpp"
#include "actors/failures.hpp"
#include "config/limits.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace piorch::actors {

template <class Params, class Answer> class change_waiters {
public:
  // The answer to the request that is being handled: later. `gone` are the
  // watches of the actor.
  template <class Self> caf::result<Answer> add(Self* self, watches& gone, const Params& what) {
    if (waiting_.size() >= limits::list_watchers)
      return refusal({failure::limit_reached, "too many clients wait for a change of this list"});
    const auto client = caf::actor_cast<caf::actor>(self->current_sender());
    auto promise = self->template make_response_promise<Answer>();
    if (client && clients_.insert(client.address()).second)
      gone.add(self, client,
               [this, who = client.address()](const caf::error&) { client_gone(who); });
    waiting_.push_back({promise, client ? client.address() : caf::actor_addr(), what});
    return promise;
  }

  bool empty() const { return waiting_.empty(); }

  // Answers those for whom `answer_to(params)`, a std::optional<result<Answer>>, has
  // something.
  template <class AnswerTo> void changed(AnswerTo&& answer_to) {
    for (auto& w : std::exchange(waiting_, {})) {
      auto answer = answer_to(std::as_const(w.what));
      if (!answer)
        waiting_.push_back(std::move(w));
      else if (*answer)
        w.promise.deliver(std::move(**answer));
      else
        w.promise.deliver(refusal(answer->failed()));
    }
  }

private:
  struct waiting {
    caf::typed_response_promise<Answer> promise;
    caf::actor_addr client;
    Params what;
  };

  void client_gone(const caf::actor_addr& who) {
    clients_.erase(who);
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                  [&](const waiting& w) { return w.client == who; }),
                   waiting_.end());
  }

  std::vector<waiting> waiting_;
  std::set<caf::actor_addr> clients_; // being watched
};

} // namespace piorch::actors
