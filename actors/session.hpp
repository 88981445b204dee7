// The session actor: one per subagent session, from its start until its process
// tree is gone. A thin shell: orchestration::session decides, event_log keeps,
// this sends. It quits when the tree is gone and the supervisor knows it.
#pragma once

#include "actors/followers.hpp"
#include "actors/interfaces.hpp"
#include "actors/session_waiters.hpp"
#include "orchestration/event_log.hpp"
#include "orchestration/session.hpp"

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace piorch::actors {

// What a session needs from the world. Copyable; the functions are called on the
// actor's thread.
struct session_services {
  std::function<orchestration::instant()> now;
  // Starts the broker with the worker in it. An error: nothing was started.
  std::function<result<remote_broker_handle>(broker_owner_handle owner)> start_worker;
  // approval_ask and approval_cancel of the worker's sandbox; may be empty, then
  // nobody answers and the broker denies in time.
  std::function<void(const orchestration::session_document&, const broker_event&,
                     const remote_broker_handle&)>
      approval;
  // The session's journal from an event on, for followers who lag behind.
  std::function<result<orchestration::event_reader>(std::uint64_t from)> read_events;
};

class session_state {
public:
  static inline const char* name = "session";
  using pointer = session_handle::stateful_pointer<session_state>;
  using answer_promise = caf::typed_response_promise<ipc::session_answer>;

  explicit session_state(pointer self) : self_(self) {}

  void begin(orchestration::session_spec spec, std::shared_ptr<orchestration::event_log> log,
             session_services services, session_owner_handle owner);

  caf::result<ipc::session_answer> run(const run_task& what);
  caf::result<ipc::session_answer> wait(const wait_settled& what);
  caf::result<done> abort();
  caf::result<done> end();
  caf::result<ipc::session_follow_result> follow(const follow_session& what);
  void unfollow(const caf::actor& who) { followers_->remove(who.address()); }
  void events_were_taken(std::size_t bytes);

  void worker_started();
  void worker_said(const broker_output& what);
  void sandbox_event(const broker_event& what);
  void worker_ended(const broker_ended& what);

  void on_task_overdue(const task_overdue& t);
  void on_wait_overdue(std::uint64_t number) { waiters_.wait_overdue(number); }
  void on_abort_overdue(std::uint64_t number);
  void on_start_overdue();
  void on_flush_due();
  void retire();

  // Something went wrong in here: nobody may be left waiting.
  void crashed();

private:
  void start_worker();
  session_handle me() const { return caf::actor_cast<session_handle>(self_); }
  orchestration::instant now() const { return services_.now(); }
  void apply(orchestration::session_effects e);
  void keep_events(std::vector<orchestration::session_event>& events);
  void answer_task(orchestration::answer& a);
  void answer_settled();
  void keep_document();
  void finish();
  void watch_client(const caf::strong_actor_ptr& who);
  void client_gone(const caf::actor_addr& who);
  ipc::session_answer answer_with(std::optional<std::string> text) const;
  result<ipc::session_answer> answer_of(result<std::string> outcome) const;
  followers::services follower_services();
  error failure_of_document() const;

  pointer self_;
  std::optional<orchestration::session> session_;
  std::shared_ptr<orchestration::event_log> log_;
  session_services services_;
  session_owner_handle owner_;
  remote_broker_handle broker_;
  watches watches_;
  std::set<caf::actor_addr> watched_;

  std::optional<followers> followers_;
  session_waiters waiters_;
  orchestration::task_id last_task_ = 0;
  // The answer of a session that ends with its task: given when the tree is gone.
  std::optional<std::pair<answer_promise, result<std::string>>> last_answer_;
  bool asked_to_start_ = false;
  bool stderr_changed_ = false;
  bool over_ = false;
};

session_handle::behavior_type session_actor(session_state::pointer self,
                                            orchestration::session_spec spec,
                                            std::shared_ptr<orchestration::event_log> log,
                                            session_services services, session_owner_handle owner);

} // namespace piorch::actors
