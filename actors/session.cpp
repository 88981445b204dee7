#include "actors/session.hpp"

#include "actors/failures.hpp"
#include "config/limits.hpp"
#include "orchestration/json_text.hpp"
#include "orchestration/session_events.hpp"

#include <nlohmann/json.hpp>

namespace piorch::actors {

namespace {

// A document travels beside its text; both in full would not fit in one line.
constexpr std::size_t full_text_in_answers = 1u << 20;

} // namespace

// -- start --------------------------------------------------------------------

void session_state::begin(orchestration::session_spec spec,
                          std::shared_ptr<orchestration::event_log> log, session_services services,
                          session_owner_handle owner) {
  log_ = std::move(log);
  services_ = std::move(services);
  owner_ = std::move(owner);
  session_.emplace(std::move(spec), now());
  followers_.emplace(session_->document().id, follower_services());
  apply(session_->begin(now()));
}

followers::services session_state::follower_services() {
  return {services_.read_events,
          [this](std::uint64_t from, std::uint64_t to) {
            return orchestration::numbered_event(
                to, now(), orchestration::session_events::gap(from, to, "no longer kept"));
          },
          [this](const caf::actor& to, event_piece what) {
            tell(self_, caf::actor_cast<follower_handle>(to),
                 session_events{session_->document().id, std::move(what.lines)});
          }};
}

// With the first task: its waiter hears of a start that fails.
void session_state::start_worker() {
  asked_to_start_ = true;
  auto started = services_.start_worker(caf::actor_cast<broker_owner_handle>(me()));
  if (!started) {
    orchestration::worker_end end;
    end.lost = started.failed().text;
    apply(session_->worker_gone(end, now()));
    return;
  }
  broker_ = std::move(*started);
  tell(self_, owner_,
       session_broker{session_->document().id, caf::actor_cast<caf::actor>(broker_)});
  watches_.add(self_, broker_, [this](const caf::error& why) {
    // Without its last word: the broker process is lost, and its sandbox with it.
    broker_ended lost;
    lost.problem =
        error{failure::fault, "the broker was lost (" + text(self_->system(), why) + ")"};
    worker_ended(lost);
  });
  tell_later(self_, limits::worker_start_timeout, me(), start_overdue{});
}

// -- what clients ask -----------------------------------------------------------

caf::result<ipc::session_answer> session_state::run(const run_task& what) {
  const auto task = ++last_task_;
  auto effects = session_->submit(task, what.task.task, now());
  if (!effects)
    return refusal(effects.failed());
  const auto client = self_->current_sender(); // the promise takes it away
  auto promise = self_->make_response_promise<ipc::session_answer>();
  watch_client(client);
  waiters_.add_task(task, {promise, caf::actor_cast<caf::actor_addr>(client), what.task.background,
                           what.ends_session});
  if (what.task.follow && client && !followers_->has(client->address()))
    // A new session from its first event on.
    followers_->add(caf::actor_cast<caf::actor>(client),
                    asked_to_start_ ? followers_->next_seq() : 1);
  if (what.task.timeout) {
    const auto seconds = static_cast<std::uint64_t>((what.task.timeout->count() + 999) / 1000);
    tell_later(self_, *what.task.timeout, me(), task_overdue{task, seconds});
  }
  apply(std::move(*effects));
  if (!asked_to_start_)
    start_worker();
  return promise;
}

caf::result<ipc::session_answer> session_state::wait(const wait_settled& what) {
  const auto client = self_->current_sender(); // the promise takes it away
  auto promise = self_->make_response_promise<ipc::session_answer>();
  watch_client(client);
  const auto number = waiters_.add_wait(promise, caf::actor_cast<caf::actor_addr>(client));
  if (what.timeout)
    tell_later(self_, *what.timeout, me(), wait_overdue{number});
  answer_settled();
  return promise;
}

caf::result<done> session_state::abort() {
  apply(session_->abort(now()));
  if (session_->settled())
    return done{};
  auto promise = self_->make_response_promise<done>();
  waiters_.add_abort(promise);
  return promise;
}

caf::result<done> session_state::end() {
  if (over_)
    return done{};
  auto promise = self_->make_response_promise<done>();
  waiters_.add_end(promise);
  apply(session_->stop(now()));
  return promise;
}

// -- clients --------------------------------------------------------------------

caf::result<ipc::session_follow_result> session_state::follow(const follow_session& what) {
  watch_client(caf::actor_cast<caf::strong_actor_ptr>(what.follower));
  followers_->add(what.follower, what.params.from);
  return ipc::session_follow_result{followers_->next_seq()};
}

void session_state::events_were_taken(std::size_t bytes) {
  followers_->taken(caf::actor_cast<caf::actor_addr>(self_->current_sender()), bytes);
}

void session_state::watch_client(const caf::strong_actor_ptr& who) {
  if (!who)
    return;
  const auto address = caf::actor_cast<caf::actor_addr>(who);
  if (!watched_.insert(address).second)
    return;
  watches_.add(self_, caf::actor_cast<caf::actor>(who),
               [this, address](const caf::error&) { client_gone(address); });
}

void session_state::client_gone(const caf::actor_addr& who) {
  watched_.erase(who);
  followers_->remove(who);
  // What it waited for in the foreground is not wanted any more.
  const auto unwanted = waiters_.client_gone(who);
  if (unwanted.ends_session)
    return apply(session_->stop(now()));
  for (const auto task : unwanted.tasks)
    apply(session_->cancel(task, now()));
}

// -- what the worker does ---------------------------------------------------------

void session_state::worker_started() { apply(session_->worker_up(now())); }

void session_state::worker_said(const broker_output& what) {
  if (what.is_stderr) {
    session_->worker_errors(what.bytes);
    stderr_changed_ = true;
  } else {
    apply(session_->worker_output(what.bytes, now()));
  }
  if (broker_)
    tell(self_, broker_, grant_output{what.bytes.size()});
}

void session_state::sandbox_event(const broker_event& what) {
  if (what.what == ipc::frame_type::network_event)
    apply(session_->network(what.json, now()));
  else if (what.what == ipc::frame_type::refused_file)
    apply(session_->note(orchestration::session_events::sandbox("refusedFile", what.json), now()));
  else if (services_.approval && broker_)
    services_.approval(session_->document(), what, broker_);
}

void session_state::worker_ended(const broker_ended& what) {
  if (over_)
    return;
  orchestration::worker_end end;
  if (what.how.signal != 0)
    end.exit.signal = what.how.signal;
  else if (what.how.started || what.how.exit_code != 125)
    end.exit.code = what.how.exit_code;
  end.cpu_seconds = what.how.cpu_seconds;
  end.peak_rss_bytes = what.how.peak_rss_bytes;
  if (what.problem)
    end.lost = what.problem->text;
  else if (!what.how.problem.empty())
    end.lost = what.how.problem;
  apply(session_->worker_gone(end, now()));
}

void session_state::on_task_overdue(const task_overdue& t) {
  apply(session_->expire(t.task, t.seconds, now()));
}

void session_state::on_abort_overdue(std::uint64_t number) {
  apply(session_->abort_overdue(number, now()));
}
void session_state::on_start_overdue() { apply(session_->start_overdue(now())); }
void session_state::on_flush_due() { apply(session_->flush(now())); }

// -- effects ------------------------------------------------------------------------

void session_state::apply(orchestration::session_effects e) {
  if (!e.events.empty())
    keep_events(e.events);
  if (e.document_changed)
    keep_document();
  for (auto& line : e.to_worker)
    if (broker_)
      tell(self_, broker_, send_input{std::move(line)});
  for (const auto task : e.accepted)
    if (auto w = waiters_.take_background(task))
      w->promise.deliver(answer_with(std::nullopt));
  for (auto& a : e.answers)
    answer_task(a);
  if (e.end_worker && broker_)
    tell(self_, broker_, stop_broker{});
  if (e.abort_grace != 0)
    tell_later(self_, limits::abort_grace, me(), abort_overdue{e.abort_grace});
  if (e.arm_flush)
    tell_later(self_, limits::delta_event_delay, me(), flush_due{});
  if (session_->settled()) {
    waiters_.answer_aborts();
    answer_settled();
  }
  if (e.ended)
    finish();
}

void session_state::keep_events(std::vector<orchestration::session_event>& events) {
  event_block block(session_->document().id, followers_->next_seq());
  const auto keep = [&](orchestration::instant time, std::string_view json) {
    auto kept = log_->append(time, json);
    block.add(kept.event->seq, kept.event->json);
    return std::move(kept.failed);
  };
  for (const auto& e : events) {
    if (const auto failed = keep(e.time, e.json); !failed.empty())
      keep(e.time, orchestration::session_events::warning(failed));
    if (block.is_full())
      followers_->publish(block.take());
  }
  if (!block.empty())
    followers_->publish(block.take());
}

void session_state::keep_document() {
  // A failure is told once, by the events: a disk that is full refuses both.
  (void)log_->keep(session_->document());
  if (std::exchange(stderr_changed_, false))
    (void)log_->keep_stderr(session_->stderr_tail());
  if (!is_live(session_->document().state))
    log_->close(now()); // before anybody is told that it can be read from the journal
  tell(self_, owner_,
       session_changed{
           std::make_shared<const orchestration::session_document>(session_->document())});
}

void session_state::answer_task(orchestration::answer& a) {
  auto w = waiters_.take_task(a.task);
  if (!w)
    return;
  if (w->ends_session && !w->background) {
    last_answer_.emplace(w->promise, std::move(a.outcome));
    const auto& outcome = last_answer_->second;
    const bool wanted = outcome || outcome.failed().code == failure::cancelled;
    return apply(wanted ? session_->stop(now()) : session_->fail(outcome.failed(), now()));
  }
  session_waiters::answer(w->promise, answer_of(std::move(a.outcome)));
}

error session_state::failure_of_document() const {
  const auto& d = session_->document();
  return {d.state == orchestration::session_state::stopped ? failure::session_stopped
                                                           : failure::session_failed,
          d.error};
}

void session_state::answer_settled() {
  if (!waiters_.any_wait() ||
      (!over_ && (!session_->settled() || session_->ending() ||
                  session_->document().state == orchestration::session_state::starting)))
    return;
  const auto& d = session_->document();
  waiters_.answer_waits(answer_of(d.error.empty() ? result<std::string>(d.text)
                                                  : result<std::string>(failure_of_document())));
}

ipc::session_answer session_state::answer_with(std::optional<std::string> text) const {
  const auto& d = session_->document();
  const bool fits = d.text.size() <= full_text_in_answers;
  return {orchestration::dump(fits ? to_json(d) : to_summary(d)), std::move(text)};
}

result<ipc::session_answer> session_state::answer_of(result<std::string> outcome) const {
  if (!outcome)
    return std::move(outcome).failed();
  return answer_with(std::move(*outcome));
}

void session_state::finish() {
  if (std::exchange(over_, true))
    return;
  waiters_.refuse_tasks(failure_of_document());
  if (auto last = std::exchange(last_answer_, {}))
    session_waiters::answer(last->first, answer_of(std::move(last->second)));
  waiters_.answer_aborts();
  answer_settled();
  waiters_.answer_ends();
}

void session_state::retire() {
  if (!over_)
    return;
  // Followers that lag behind get the rest from the journal.
  for (auto& [who, next] : followers_->leave())
    tell(self_, owner_, replay_session{session_->document().id, next, who});
  self_->quit();
}

void session_state::crashed() {
  const error why{failure::fault, "internal error in the session"};
  if (broker_)
    tell(self_, broker_, stop_broker{});
  waiters_.fail_all(why);
  if (last_answer_)
    last_answer_->first.deliver(refusal(why));
}

// -- the table of messages -------------------------------------------------------------

session_handle::behavior_type session_actor(session_state::pointer self,
                                            orchestration::session_spec spec,
                                            std::shared_ptr<orchestration::event_log> log,
                                            session_services services, session_owner_handle owner) {
  self->set_exception_handler([self](std::exception_ptr&) -> caf::error {
    state(self).crashed();
    return caf::sec::runtime_error;
  });
  state(self).begin(std::move(spec), std::move(log), std::move(services), std::move(owner));
  return {
      [=](const broker_started&) { state(self).worker_started(); },
      [=](const broker_output& m) { state(self).worker_said(m); },
      [=](const broker_event& m) { state(self).sandbox_event(m); },
      [=](const broker_ended& m) { state(self).worker_ended(m); },
      [=](const run_task& m) { return state(self).run(m); },
      [=](const wait_settled& m) { return state(self).wait(m); },
      [=](const abort_run&) { return state(self).abort(); },
      [=](const end_session&) { return state(self).end(); },
      [=](const follow_session& m) { return state(self).follow(m); },
      [=](const unfollow_session& m) { state(self).unfollow(m.follower); },
      [=](const events_taken& m) { state(self).events_were_taken(m.bytes); },
      [=](const task_overdue& m) { state(self).on_task_overdue(m); },
      [=](const wait_overdue& m) { state(self).on_wait_overdue(m.number); },
      [=](const abort_overdue& m) { state(self).on_abort_overdue(m.number); },
      [=](const start_overdue&) { state(self).on_start_overdue(); },
      [=](const flush_due&) { state(self).on_flush_due(); },
      [=](const retire_session&) { state(self).retire(); },
  };
}

} // namespace piorch::actors
