#include "actors/session_waiters.hpp"

namespace piorch::actors {

void session_waiters::answer(answer_promise& promise, result<ipc::session_answer> what) {
  if (what)
    promise.deliver(std::move(*what));
  else
    promise.deliver(refusal(what.failed()));
}

std::uint64_t session_waiters::add_wait(answer_promise promise, caf::actor_addr client) {
  waits_.emplace(++last_wait_, settle_waiter{std::move(promise), std::move(client)});
  return last_wait_;
}

std::optional<session_waiters::task_waiter>
session_waiters::take_task(orchestration::task_id task) {
  const auto i = tasks_.find(task);
  if (i == tasks_.end())
    return {};
  auto w = std::move(i->second);
  tasks_.erase(i);
  return w;
}

std::optional<session_waiters::task_waiter>
session_waiters::take_background(orchestration::task_id task) {
  const auto i = tasks_.find(task);
  return i != tasks_.end() && i->second.background ? take_task(task) : std::nullopt;
}

void session_waiters::answer_waits(const result<ipc::session_answer>& what) {
  for (auto& [number, w] : std::exchange(waits_, {}))
    answer(w.promise, what);
}

void session_waiters::wait_overdue(std::uint64_t number) {
  const auto i = waits_.find(number);
  if (i == waits_.end())
    return;
  auto w = std::move(i->second);
  waits_.erase(i);
  w.promise.deliver(refusal({failure::timed_out, "the session has not settled in time"}));
}

void session_waiters::answer_aborts() {
  for (auto& p : std::exchange(aborts_, {}))
    p.deliver(done{});
}

void session_waiters::answer_ends() {
  for (auto& p : std::exchange(ends_, {}))
    p.deliver(done{});
}

void session_waiters::refuse_tasks(const error& why) {
  for (auto& [task, w] : std::exchange(tasks_, {}))
    w.promise.deliver(refusal(why));
}

void session_waiters::fail_all(const error& why) {
  refuse_tasks(why);
  answer_waits(why);
  for (auto& p : std::exchange(aborts_, {}))
    p.deliver(refusal(why));
  for (auto& p : std::exchange(ends_, {}))
    p.deliver(refusal(why));
}

session_waiters::unwanted session_waiters::client_gone(const caf::actor_addr& who) {
  for (auto i = waits_.begin(); i != waits_.end();)
    i = i->second.client == who ? waits_.erase(i) : std::next(i);
  unwanted out;
  for (auto i = tasks_.begin(); i != tasks_.end();) {
    if (i->second.client != who || i->second.background) {
      ++i;
      continue;
    }
    out.tasks.push_back(i->first);
    out.ends_session = out.ends_session || i->second.ends_session;
    i = tasks_.erase(i);
  }
  return out;
}

} // namespace piorch::actors
