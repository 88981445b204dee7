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
  apply(session_->begin(now()));
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
  auto effects = session_->submit(task, what.text, now());
  if (!effects)
    return refusal(effects.failed());
  const auto client = self_->current_sender(); // the promise takes it away
  auto promise = self_->make_response_promise<ipc::session_answer>();
  watch_client(client);
  tasks_.emplace(task, waiter{promise, caf::actor_cast<caf::actor_addr>(client), what.background,
                              what.ends_session});
  if (what.follow && client) {
    // A new session from its first event on.
    const auto from = asked_to_start_ ? events_.next_seq() : 1;
    followers_.emplace(caf::actor_cast<caf::actor>(client), follower_feed(from));
    for (auto& [who, f] : followers_)
      feed(who, f);
  }
  if (what.timeout) {
    const auto seconds = static_cast<std::uint64_t>((what.timeout->count() + 999) / 1000);
    tell_later(self_, *what.timeout, me(), task_overdue{task, seconds});
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
  const auto number = ++last_wait_;
  waits_.emplace(number, settle_waiter{promise, caf::actor_cast<caf::actor_addr>(client)});
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
  aborts_.push_back(promise);
  return promise;
}

caf::result<done> session_state::end() {
  if (over_)
    return done{};
  auto promise = self_->make_response_promise<done>();
  ends_.push_back(promise);
  apply(session_->stop(now()));
  return promise;
}

// -- followers ------------------------------------------------------------------

caf::result<ipc::session_follow_result> session_state::follow(const follow_session& what) {
  const auto from = what.params.from;
  auto [i, fresh] = followers_.insert_or_assign(what.follower, follower_feed(from));
  (void)fresh;
  watch_client(caf::actor_cast<caf::strong_actor_ptr>(what.follower));
  feed(i->first, i->second);
  return ipc::session_follow_result{events_.next_seq()};
}

void session_state::unfollow(const caf::actor& who) { followers_.erase(who); }

void session_state::events_were_taken(std::size_t bytes) {
  const auto i = followers_.find(caf::actor_cast<caf::actor>(self_->current_sender()));
  if (i == followers_.end())
    return;
  i->second.taken(bytes);
  feed(i->first, i->second);
}

void session_state::feed(const caf::actor& who, follower_feed& f) {
  const auto& id = session_->document().id;
  while (f.has_room() && f.next() < events_.next_seq()) {
    std::uint64_t next = 0;
    auto lines = f.page(id, events_, services_.read_events, next);
    if (next == f.next()) {
      // Neither in memory nor on disk (it could not be written): say so and go on.
      next = events_.first_seq();
      if (next <= f.next())
        return;
      lines = {
          event_line(id, orchestration::numbered_event(next - 1, now(),
                                                       orchestration::session_events::gap(
                                                           f.next(), next - 1, "no longer kept")))};
    }
    auto shared = std::make_shared<const std::vector<std::string>>(std::move(lines));
    f.sent(*shared, next);
    tell(self_, caf::actor_cast<follower_handle>(who), session_events{id, std::move(shared)});
  }
}

// What just happened goes to everybody who has all before it, as one list; who
// lags behind gets it from the buffer in time.
void session_state::tell_followers(shared_lines fresh, std::uint64_t first) {
  const auto& id = session_->document().id;
  for (auto& [who, f] : followers_) {
    if (f.next() == first && f.has_room()) {
      f.sent(*fresh, events_.next_seq());
      tell(self_, caf::actor_cast<follower_handle>(who), session_events{id, fresh});
    } else {
      feed(who, f);
    }
  }
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
  for (auto i = followers_.begin(); i != followers_.end();)
    i = i->first == who ? followers_.erase(i) : std::next(i);
  for (auto i = waits_.begin(); i != waits_.end();)
    i = i->second.client == who ? waits_.erase(i) : std::next(i);
  // What it waited for in the foreground is not wanted any more.
  std::vector<orchestration::task_id> unwanted;
  bool ends = false;
  for (const auto& [task, w] : tasks_)
    if (w.client == who && !w.background) {
      unwanted.push_back(task);
      ends = ends || w.ends_session;
    }
  for (const auto task : unwanted) {
    tasks_.erase(task);
    if (!ends)
      apply(session_->cancel(task, now()));
  }
  if (ends)
    apply(session_->stop(now()));
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
    apply(session_->note(orchestration::session_events::sandbox("network", what.json), now()));
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

void session_state::on_wait_overdue(std::uint64_t number) {
  const auto i = waits_.find(number);
  if (i == waits_.end())
    return;
  auto w = std::move(i->second);
  waits_.erase(i);
  w.promise.deliver(refusal({failure::timed_out, "the session has not settled in time"}));
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
  for (const auto task : e.accepted) {
    const auto i = tasks_.find(task);
    if (i != tasks_.end() && i->second.background) {
      auto w = std::move(i->second);
      tasks_.erase(i);
      w.promise.deliver(answer_with(std::nullopt));
    }
  }
  for (auto& a : e.answers)
    answer_task(a);
  if (e.end_worker && broker_)
    tell(self_, broker_, stop_broker{});
  if (e.abort_grace != 0)
    tell_later(self_, limits::abort_grace, me(), abort_overdue{e.abort_grace});
  if (e.arm_flush)
    tell_later(self_, limits::delta_event_delay, me(), flush_due{});
  if (session_->settled()) {
    for (auto& p : std::exchange(aborts_, {}))
      p.deliver(done{});
    answer_settled();
  }
  if (e.ended)
    finish();
}

void session_state::keep_events(std::vector<orchestration::session_event>& events) {
  const auto first = events_.next_seq();
  std::vector<std::string> lines;
  const auto& id = session_->document().id;
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto kept = log_->append(events[i].time, events[i].json);
    lines.push_back(event_line(id, kept.event->json));
    events_.push(std::move(kept.event));
    if (!kept.failed.empty()) // a copy: events may move while we add one
      events.insert(events.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    {events[i].time, orchestration::session_events::warning(kept.failed)});
  }
  if (!followers_.empty())
    tell_followers(std::make_shared<const std::vector<std::string>>(std::move(lines)), first);
}

void session_state::keep_document() {
  // A failure is told once, by the events: a disk that is full refuses both.
  (void)log_->keep(session_->document());
  if (std::exchange(stderr_changed_, false))
    (void)log_->keep_stderr(session_->stderr_tail());
  tell(self_, owner_,
       session_changed{
           std::make_shared<const orchestration::session_document>(session_->document())});
}

void session_state::answer_task(orchestration::answer& a) {
  const auto i = tasks_.find(a.task);
  if (i == tasks_.end())
    return;
  auto w = std::move(i->second);
  tasks_.erase(i);
  if (w.ends_session && !w.background) {
    last_answer_.emplace(w.promise, std::move(a.outcome));
    apply(last_answer_->second ? session_->stop(now())
                               : session_->fail(last_answer_->second.failed(), now()));
    return;
  }
  if (!a.outcome)
    w.promise.deliver(refusal(a.outcome.failed()));
  else
    w.promise.deliver(answer_with(std::move(*a.outcome)));
}

error session_state::failure_of_document() const {
  const auto& d = session_->document();
  return {d.state == orchestration::session_state::stopped ? failure::session_stopped
                                                           : failure::session_failed,
          d.error};
}

void session_state::answer_settled() {
  if (waits_.empty() ||
      (!over_ && (!session_->settled() || session_->ending() ||
                  session_->document().state == orchestration::session_state::starting)))
    return;
  for (auto& [number, w] : std::exchange(waits_, {})) {
    if (session_->document().error.empty())
      w.promise.deliver(answer_with(session_->document().text));
    else
      w.promise.deliver(refusal(failure_of_document()));
  }
}

ipc::session_answer session_state::answer_with(std::optional<std::string> text) const {
  const auto& d = session_->document();
  const bool fits = d.text.size() <= full_text_in_answers;
  return {orchestration::dump(fits ? to_json(d) : to_summary(d)), std::move(text)};
}

void session_state::finish() {
  if (std::exchange(over_, true))
    return;
  log_->close();
  for (auto& [task, w] : std::exchange(tasks_, {}))
    w.promise.deliver(refusal(failure_of_document()));
  if (last_answer_) {
    auto [promise, outcome] = std::move(*last_answer_);
    last_answer_.reset();
    if (outcome)
      promise.deliver(answer_with(std::move(*outcome)));
    else
      promise.deliver(refusal(outcome.failed()));
  }
  for (auto& p : std::exchange(aborts_, {}))
    p.deliver(done{});
  answer_settled();
  for (auto& p : std::exchange(ends_, {}))
    p.deliver(done{});
}

void session_state::retire() {
  if (!over_)
    return;
  // Followers that lag behind get the rest from the journal.
  for (auto& [who, f] : std::exchange(followers_, {}))
    if (f.next() < events_.next_seq())
      tell(self_, owner_, replay_session{session_->document().id, f.next(), who});
  self_->quit();
}

void session_state::crashed() {
  const error why{failure::fault, "internal error in the session"};
  if (broker_)
    tell(self_, broker_, stop_broker{});
  for (auto& [task, w] : std::exchange(tasks_, {}))
    w.promise.deliver(refusal(why));
  for (auto& [number, w] : std::exchange(waits_, {}))
    w.promise.deliver(refusal(why));
  for (auto& p : std::exchange(aborts_, {}))
    p.deliver(refusal(why));
  for (auto& p : std::exchange(ends_, {}))
    p.deliver(refusal(why));
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
