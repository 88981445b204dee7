#include "actors/supervisor.hpp"

#include "actors/failures.hpp"
#include "actors/replay.hpp"
#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace piorch::actors {

using orchestration::session_document;

namespace {
constexpr const char* crash_text = "internal error in the session";
} // namespace

void supervisor_state::begin(supervisor_services services) {
  services_ = std::move(services);
  look_into_journal();
  forget_old();
}

// -- finding ----------------------------------------------------------------------

// What other orchestrators have ended or, dying, left behind, and what they forgot.
void supervisor_state::look_into_journal() {
  services_.journal->recover(services_.now());
  std::set<std::string> there;
  for (auto& d : services_.journal->ended()) {
    there.insert(d.id);
    if (!sessions_.get(d.id))
      sessions_.put(std::make_shared<const session_document>(std::move(d)));
  }
  for (const auto& d : sessions_.since({}).sessions)
    if (live_.count(d->id) == 0 && there.count(d->id) == 0)
      sessions_.forget(d->id);
  announce();
}

result<std::string> supervisor_state::find(const std::string& reference) {
  auto found = sessions_.find(reference);
  if (found)
    return found;
  look_into_journal();
  return sessions_.find(reference);
}

session_handle supervisor_state::live_actor(const std::string& id) const {
  const auto i = live_.find(id);
  return i == live_.end() || i->second.retires ? session_handle() : i->second.actor;
}

result<session_document> supervisor_state::document_of(const std::string& id) const {
  if (live_.count(id) != 0)
    return *sessions_.get(id);
  return services_.journal->read(id); // with its whole text
}

error supervisor_state::ended(const std::string& id) const {
  const auto d = document_of(id);
  if (!d)
    return d.failed();
  if (d->state == orchestration::session_state::failed)
    return {failure::session_failed, "session " + id + " has failed: " + d->error};
  return {failure::session_stopped, "session " + id + " has ended"};
}

// -- asking -----------------------------------------------------------------------

caf::result<ipc::session_answer>
supervisor_state::follow_up(const ipc::session_follow_up_params& p) {
  const auto id = find(p.session_id);
  if (!id)
    return refusal(id.failed());
  const auto actor = live_actor(*id);
  if (!actor)
    return refusal(ended(*id));
  return self_->delegate(actor, run_task{p, false});
}

caf::result<ipc::session_answer> supervisor_state::wait(const ipc::session_wait_params& p) {
  const auto id = find(p.session_id);
  if (!id)
    return refusal(id.failed());
  if (const auto actor = live_actor(*id))
    return self_->delegate(actor, wait_settled{p.timeout});
  auto d = document_of(*id);
  if (!d)
    return refusal(d.failed());
  if (!d->error.empty())
    return refusal({d->state == orchestration::session_state::stopped ? failure::session_stopped
                                                                      : failure::session_failed,
                    d->error});
  auto text = d->text;
  return ipc::session_answer{orchestration::dump(to_summary(*d)), std::move(text)};
}

caf::result<ipc::session_status_result>
supervisor_state::status(const ipc::session_status_params& p) {
  auto exact = p;
  if (p.session_id) {
    auto id = find(*p.session_id);
    if (!id)
      return refusal(id.failed());
    exact.session_id = std::move(*id);
  } else if (!p.after) {
    look_into_journal();
  }
  if (p.after && !sessions_.has_news(*p.after, exact.session_id.value_or("")))
    return watching_.add(self_, watches_, exact);
  auto answer = status_after(exact);
  return answer ? caf::result<ipc::session_status_result>(std::move(*answer))
                : refusal(answer.failed());
}

result<ipc::session_status_result>
supervisor_state::status_after(const ipc::session_status_params& p) const {
  ipc::session_status_result out;
  out.revision = sessions_.revision();
  if (p.session_id) {
    const auto d = document_of(*p.session_id);
    if (!d)
      return d.failed();
    out.sessions.push_back(orchestration::dump(to_json(*d)));
    return out;
  }
  const auto news = sessions_.since(p.after);
  out.all = news.all;
  for (const auto& d : news.sessions)
    out.sessions.push_back(orchestration::dump(to_summary(*d)));
  return out;
}

void supervisor_state::put(session_document d) {
  sessions_.put(std::make_shared<const session_document>(std::move(d)));
  announce();
}

// To those who wait for a change.
void supervisor_state::announce() {
  using answer = std::optional<result<ipc::session_status_result>>;
  watching_.changed([&](const ipc::session_status_params& p) {
    return sessions_.has_news(*p.after, p.session_id.value_or("")) ? answer(status_after(p))
                                                                   : answer();
  });
}

caf::result<done> supervisor_state::abort(const ipc::session_abort_params& p) {
  const auto id = find(p.session_id);
  if (!id)
    return refusal(id.failed());
  const auto actor = live_actor(*id);
  if (!actor)
    return refusal(ended(*id));
  return self_->delegate(actor, abort_run{});
}

caf::result<done> supervisor_state::stop(const ipc::session_stop_params& p) {
  if (p.all) {
    if (slots_.taken() == 0)
      return done{};
    for (const auto& [id, s] : live_)
      if (s.actor)
        tell(s.actor, end_session{}); // anonymous: its answer is not for us
    stoppers_.push_back(self_->make_response_promise<done>());
    return stoppers_.back();
  }
  const auto id = find(p.session_id);
  if (!id)
    return refusal(id.failed());
  if (const auto actor = live_actor(*id))
    return self_->delegate(actor, end_session{});
  return done{}; // it has ended: what was wanted is so
}

caf::result<done> supervisor_state::stop_everything() {
  stopping_ = true;
  ipc::session_stop_params all;
  all.all = true;
  return stop(all);
}

// -- following --------------------------------------------------------------------

caf::result<ipc::session_follow_result> supervisor_state::follow(const follow_session& m) {
  const auto id = find(m.params.session_id);
  if (!id)
    return refusal(id.failed());
  if (const auto actor = live_actor(*id)) {
    auto exact = m;
    exact.params.session_id = *id;
    return self_->delegate(actor, std::move(exact));
  }
  const auto next = services_.journal->last_seq(*id);
  if (!next)
    return refusal(next.failed());
  if (auto read = replay({*id, m.params.from, m.follower}); !read)
    return refusal(read.failed()); // else its follower would wait for ever
  return ipc::session_follow_result{*next + 1};
}

result<done> supervisor_state::replay(const replay_session& m) {
  auto reader = services_.journal->follow(m.session_id, m.from);
  if (!reader)
    return std::move(reader).failed();
  auto actor =
      self_->spawn(replay_actor, m.session_id,
                   std::make_shared<orchestration::event_reader>(std::move(*reader)), m.follower);
  replays_.push_back(actor);
  watches_.add(self_, actor, [this, who = actor.address()](const caf::error&) {
    replays_.erase(std::remove_if(replays_.begin(), replays_.end(),
                                  [&](const auto& r) { return r.address() == who; }),
                   replays_.end());
  });
  return done{};
}

void supervisor_state::unfollow(const unfollow_session& m) {
  const auto id = find(m.session_id);
  if (!id)
    return;
  if (const auto actor = live_actor(*id))
    tell(self_, actor, m);
  for (const auto& r : replays_) // they know themselves whose they are
    tell(self_, r, unfollow_session{*id, m.follower});
}

// -- what sessions say ------------------------------------------------------------

void supervisor_state::changed(const session_changed& m) {
  const auto i = live_.find(m.document->id);
  if (i == live_.end())
    return;
  sessions_.put(m.document);
  announce();
  if (!is_live(m.document->state) && i->second.actor && !std::exchange(i->second.retires, true))
    tell(self_, i->second.actor, retire_session{}); // after all that was passed on to it
}

void supervisor_state::broker_made(const session_broker& m) {
  const auto i = live_.find(m.session_id);
  if (i == live_.end())
    return;
  i->second.broker_lives = true;
  watches_.add(self_, m.broker, [this, id = m.session_id](const caf::error&) { broker_down(id); });
}

void supervisor_state::session_down(const std::string& id) {
  const auto i = live_.find(id);
  if (i == live_.end())
    return;
  i->second.actor = nullptr;
  if (auto d = *sessions_.get(id); is_live(d.state)) {
    // It crashed. Its broker ends without it; what it had told stays.
    d.state = orchestration::session_state::failed;
    d.error = crash_text;
    d.ended_at = d.updated_at = services_.now();
    put(std::move(d));
  }
  free_if_gone(id);
}

void supervisor_state::broker_down(const std::string& id) {
  if (const auto i = live_.find(id); i != live_.end()) {
    i->second.broker_lives = false;
    free_if_gone(id);
  }
}

// A slot is free when nothing of the session is alive, neither actor nor tree.
void supervisor_state::free_if_gone(const std::string& id) {
  const auto i = live_.find(id);
  if (i->second.actor || i->second.broker_lives)
    return;
  auto d = *sessions_.get(id);
  if (d.error == crash_text)
    services_.journal->recover(services_.now()); // its journal is nobody's now
  d.text = orchestration::bounded(d.text, limits::status_text_bytes);
  d.task = orchestration::bounded(d.task, limits::status_text_bytes);
  live_.erase(i);
  slots_.tree_gone(id);
  put(std::move(d));
  if (slots_.taken() == 0)
    for (auto& p : std::exchange(stoppers_, {}))
      p.deliver(done{});
}

void supervisor_state::forget_old() {
  if (!services_.keep)
    return;
  for (const auto& id : services_.journal->prune(*services_.keep, services_.now()))
    sessions_.forget(id);
}

// -- the table of messages ----------------------------------------------------------

supervisor_type::behavior_type supervisor_actor(supervisor_state::pointer self,
                                                supervisor_services services) {
  state(self).begin(std::move(services));
  return {
      [=](const ipc::session_start_params& p) { return state(self).start(p); },
      [=](const ipc::session_follow_up_params& p) { return state(self).follow_up(p); },
      [=](const ipc::session_handoff_params& p) { return state(self).handoff(p); },
      [=](const ipc::session_wait_params& p) { return state(self).wait(p); },
      [=](const ipc::session_status_params& p) { return state(self).status(p); },
      [=](const ipc::session_abort_params& p) { return state(self).abort(p); },
      [=](const ipc::session_stop_params& p) { return state(self).stop(p); },
      [=](const follow_session& m) { return state(self).follow(m); },
      [=](const unfollow_session& m) { state(self).unfollow(m); },
      [=](const count_live&) { return state(self).live(); },
      [=](const stop_all&) { return state(self).stop_everything(); },
      [=](const session_changed& m) { state(self).changed(m); },
      [=](const session_broker& m) { state(self).broker_made(m); },
      [=](const replay_session& m) {
        (void)state(self).replay(m); // forgotten meanwhile: there is nothing more to tell
      },
  };
}

} // namespace piorch::actors
