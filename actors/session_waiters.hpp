// Who waits for something of one session: for the answer to a task, until nothing runs,
// for the end of a run or of the session. Each is answered once, and none is left over
// (fail_all). A value of the session actor.
#pragma once

#include "actors/failures.hpp"
#include "actors/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace piorch::actors {

class session_waiters {
public:
  using answer_promise = caf::typed_response_promise<ipc::session_answer>;
  using done_promise = caf::typed_response_promise<done>;

  struct task_waiter {
    answer_promise promise;
    caf::actor_addr client;
    bool background = false;   // answered when the worker has taken the task
    bool ends_session = false; // the session ends with this task
  };

  void add_task(orchestration::task_id task, task_waiter w) { tasks_.emplace(task, std::move(w)); }
  // The number is for overdue().
  std::uint64_t add_wait(answer_promise promise, caf::actor_addr client);
  void add_abort(done_promise p) { aborts_.push_back(std::move(p)); }
  void add_end(done_promise p) { ends_.push_back(std::move(p)); }

  // Whoever waits for that task; its waiter no more.
  std::optional<task_waiter> take_task(orchestration::task_id task);
  // The same, if it only waits for the worker to take it.
  std::optional<task_waiter> take_background(orchestration::task_id task);
  bool any_wait() const noexcept { return !waits_.empty(); }
  void answer_waits(const result<ipc::session_answer>& answer);
  void wait_overdue(std::uint64_t number);
  void answer_aborts();
  void answer_ends();

  void refuse_tasks(const error& why);
  void fail_all(const error& why);

  // The client has left: which tasks it waited for in the foreground (nobody is to work
  // on them any more), and whether the session was to end with one of them.
  struct unwanted {
    std::vector<orchestration::task_id> tasks;
    bool ends_session = false;
  };
  unwanted client_gone(const caf::actor_addr& who);

  static void answer(answer_promise& promise, result<ipc::session_answer> what);

private:
  struct settle_waiter {
    answer_promise promise;
    caf::actor_addr client;
  };
  std::map<orchestration::task_id, task_waiter> tasks_;
  std::uint64_t last_wait_ = 0;
  std::map<std::uint64_t, settle_waiter> waits_;
  std::vector<done_promise> aborts_;
  std::vector<done_promise> ends_;
};

} // namespace piorch::actors
