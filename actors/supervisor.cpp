#include "actors/supervisor.hpp"

#include "actors/failures.hpp"
#include "actors/replay.hpp"
#include "orchestration/handoff.hpp"
#include "orchestration/json_text.hpp"
#include "orchestration/session_id.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace piorch::actors {

using orchestration::session_document;

void supervisor_state::begin(supervisor_services services) {
  services_ = std::move(services);
  services_.journal->recover(services_.now());
  services_.journal->prune(services_.keep, services_.now());
  for (auto& d : services_.journal->ended()) {
    const auto id = d.id;
    ended_[id] = std::make_shared<const session_document>(std::move(d));
  }
}

// -- finding ----------------------------------------------------------------------

result<std::string> supervisor_state::find(const std::string& reference) {
  const auto look = [&] {
    std::vector<orchestration::session_entry> all;
    for (const auto& [id, s] : live_)
      all.push_back({id, s.document->name, is_live(s.document->state)});
    for (const auto& [id, d] : ended_)
      all.push_back({id, d->name, false});
    return orchestration::find_session(all, reference);
  };
  auto found = look();
  if (found)
    return found;
  // It may have ended under another orchestrator.
  for (auto& d : services_.journal->ended())
    if (live_.count(d.id) == 0) {
      const auto id = d.id;
      ended_[id] = std::make_shared<const session_document>(std::move(d));
    }
  return look();
}

session_handle supervisor_state::live_actor(const std::string& id) const {
  const auto i = live_.find(id);
  return i == live_.end() ? session_handle() : i->second.actor;
}

result<session_document> supervisor_state::document_of(const std::string& id) const {
  if (const auto i = live_.find(id); i != live_.end())
    return *i->second.document;
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

// -- making -----------------------------------------------------------------------

caf::result<ipc::session_answer> supervisor_state::start(const ipc::session_start_params& p) {
  wish w;
  w.task = p.task;
  w.cwd = p.cwd;
  w.model = p.model;
  w.tools = p.tools;
  w.name = p.name;
  w.env = p.env;
  w.timeout = p.timeout;
  w.background = p.background;
  w.ends_with_task = !p.background;
  w.follow = p.follow;
  return make(std::move(w));
}

caf::result<ipc::session_answer> supervisor_state::handoff(const ipc::session_handoff_params& p) {
  const auto parent = find(p.session_id);
  if (!parent)
    return refusal(parent.failed());
  const auto d = document_of(*parent);
  if (!d)
    return refusal(d.failed());
  wish w;
  w.task = orchestration::handoff_task(d->text, p.task);
  w.cwd = p.cwd.value_or(d->cwd);
  w.parent_id = d->id;
  w.parent_depth = d->depth;
  w.model = p.model;
  w.tools = p.tools;
  w.name = p.name;
  w.env = p.env;
  w.timeout = p.timeout;
  w.background = p.background;
  w.follow = p.follow;
  return make(std::move(w));
}

caf::result<ipc::session_answer> supervisor_state::make(wish w) {
  auto made = make_session(w);
  if (!made)
    return refusal(made.failed());
  return self_->delegate(
      *made, run_task{std::move(w.task), w.timeout, w.background, w.ends_with_task, w.follow});
}

result<session_handle> supervisor_state::make_session(wish& w) {
  if (stopping_)
    return error{failure::cancelled, "the orchestrator is ending"};
  if (w.name) {
    if (auto ok = orchestration::check_session_name(*w.name); !ok)
      return ok.failed();
    for (const auto& [id, s] : live_)
      if (s.document->name == *w.name)
        return error{failure::usage, "a live session is called " + *w.name + " already"};
  }
  const auto now = services_.now();
  orchestration::session_spec spec;
  spec.id = orchestration::make_session_id(now, services_.random());
  const auto depth = slots_.take(spec.id, w.parent_depth);
  if (!depth)
    return depth.failed();
  const auto give_back = [&](const error& why) {
    slots_.tree_gone(spec.id);
    return why;
  };
  auto worker = services_.prepare_worker({spec.id, w.cwd, w.model.value_or(""), w.tools, w.env});
  if (!worker)
    return give_back(worker.failed());
  session_document d;
  d.id = spec.id;
  d.name = spec.name = w.name.value_or("");
  d.parent_id = spec.parent_id = w.parent_id;
  d.depth = spec.depth = *depth;
  d.cwd = spec.cwd = w.cwd;
  d.model = spec.model = w.model.value_or("");
  d.task = w.task;
  d.created_at = d.updated_at = now;
  spec.providers = std::move(worker->providers);
  forget_old();
  auto log = services_.journal->create(d);
  if (!log)
    return give_back({failure::fault,
                      "the session cannot be kept in the state directory: " + log.failed().text});

  session_services s;
  s.now = services_.now;
  s.start_worker = std::move(worker->start);
  s.approval = services_.approval;
  s.read_events = [j = services_.journal, id = d.id](std::uint64_t from) {
    return j->follow(id, from);
  };
  auto& entry = live_[d.id];
  entry.document = std::make_shared<const session_document>(d);
  entry.actor = self_->spawn(session_actor, std::move(spec),
                             std::make_shared<orchestration::event_log>(std::move(*log)),
                             std::move(s), caf::actor_cast<session_owner_handle>(self_));
  watches_.add(self_, entry.actor, [this, id = d.id](const caf::error&) { session_down(id); });
  return entry.actor;
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
  return self_->delegate(actor, run_task{p.task, p.timeout, p.background, false, p.follow});
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
  ipc::session_status_result out;
  if (p.session_id) {
    const auto id = find(*p.session_id);
    if (!id)
      return refusal(id.failed());
    const auto d = document_of(*id);
    if (!d)
      return refusal(d.failed());
    out.sessions.push_back(orchestration::dump(to_json(*d)));
    return out;
  }
  (void)find(""); // looks at what other orchestrators have ended meanwhile
  for (const auto& [id, d] : ended_)
    if (live_.count(id) == 0)
      out.sessions.push_back(orchestration::dump(to_summary(*d)));
  for (const auto& [id, s] : live_)
    out.sessions.push_back(orchestration::dump(to_summary(*s.document)));
  return out;
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
  replay({*id, m.params.from, m.follower});
  return ipc::session_follow_result{*next + 1};
}

void supervisor_state::replay(const replay_session& m) {
  auto reader = services_.journal->follow(m.session_id, m.from);
  if (!reader)
    return; // forgotten meanwhile
  auto actor =
      self_->spawn(replay_actor, m.session_id,
                   std::make_shared<orchestration::event_reader>(std::move(*reader)), m.follower);
  replays_.push_back(actor);
  watches_.add(self_, actor, [this, who = actor.address()](const caf::error&) {
    replays_.erase(std::remove_if(replays_.begin(), replays_.end(),
                                  [&](const auto& r) { return r.address() == who; }),
                   replays_.end());
  });
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
  i->second.document = m.document;
  if (!is_live(m.document->state) && i->second.actor)
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
  if (is_live(i->second.document->state)) {
    // It crashed. Its broker ends without it; what it had told stays.
    auto d = *i->second.document;
    d.state = orchestration::session_state::failed;
    d.error = "internal error in the session";
    d.ended_at = d.updated_at = services_.now();
    i->second.document = std::make_shared<const session_document>(std::move(d));
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
  auto d = *i->second.document;
  if (d.error == "internal error in the session")
    services_.journal->recover(services_.now()); // its journal is nobody's now
  d.text = orchestration::bounded(d.text, limits::status_text_bytes);
  d.task = orchestration::bounded(d.task, limits::status_text_bytes);
  ended_[id] = std::make_shared<const session_document>(std::move(d));
  live_.erase(i);
  slots_.tree_gone(id);
  if (slots_.taken() == 0)
    for (auto& p : std::exchange(stoppers_, {}))
      p.deliver(done{});
}

void supervisor_state::forget_old() {
  for (const auto& id : services_.journal->prune(services_.keep, services_.now()))
    ended_.erase(id);
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
      [=](const replay_session& m) { state(self).replay(m); },
  };
}

} // namespace piorch::actors
