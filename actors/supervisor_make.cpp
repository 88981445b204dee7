// The supervisor: new sessions, by start and handoff.
#include "actors/supervisor.hpp"

#include "actors/failures.hpp"
#include "orchestration/handoff.hpp"
#include "orchestration/session_id.hpp"

namespace piorch::actors {

caf::result<ipc::session_answer> supervisor_state::start(const ipc::session_start_params& p) {
  wish w{p, p, p.cwd};
  w.ends_with_task = !p.background;
  return make(std::move(w));
}

caf::result<ipc::session_answer> supervisor_state::handoff(const ipc::session_handoff_params& p) {
  const auto parent = find(p.session_id);
  if (!parent)
    return refusal(parent.failed());
  const auto d = document_of(*parent);
  if (!d)
    return refusal(d.failed());
  wish w{p, p, p.cwd.value_or(d->cwd), d->id, d->depth};
  w.task.task = orchestration::handoff_task(d->text, p.task);
  return make(std::move(w));
}

caf::result<ipc::session_answer> supervisor_state::make(wish w) {
  auto made = make_session(w);
  if (!made)
    return refusal(made.failed());
  return self_->delegate(*made, run_task{std::move(w.task), w.ends_with_task});
}

result<done> supervisor_state::may_make(const wish& w) const {
  if (stopping_)
    return error{failure::cancelled, "the orchestrator is ending"};
  const auto& wanted = w.worker.name;
  if (wanted)
    if (auto ok = orchestration::check_session_name(*wanted); !ok)
      return ok;
  if (wanted && sessions_.has_live_name(*wanted))
    return error{failure::usage, "a live session is called " + *wanted + " already"};
  return done{};
}

result<session_handle> supervisor_state::make_session(const wish& w) {
  if (auto ok = may_make(w); !ok)
    return ok.failed();
  orchestration::session_spec spec;
  spec.id = orchestration::make_session_id(services_.now(), services_.random());
  spec.name = w.worker.name.value_or("");
  spec.parent_id = w.parent_id;
  spec.cwd = w.cwd;
  spec.model = w.worker.model.value_or("");
  const auto depth = slots_.take(spec.id, w.parent_depth);
  if (!depth)
    return depth.failed();
  spec.depth = *depth;
  const auto id = spec.id;
  auto made = make_in_slot(w, std::move(spec));
  if (!made)
    slots_.tree_gone(id);
  return made;
}

result<session_handle> supervisor_state::make_in_slot(const wish& w,
                                                      orchestration::session_spec spec) {
  auto worker =
      services_.prepare_worker({spec.id, spec.cwd, spec.model, w.worker.tools, w.worker.env});
  if (!worker)
    return worker.failed();
  spec.providers = std::move(worker->providers);
  spec.start_hint = std::move(worker->start_hint);
  auto document = orchestration::first_document(spec, services_.now());
  document.task = w.task.task;
  forget_old();
  auto log = services_.journal->create(document);
  if (!log)
    return error{failure::fault,
                 "the session cannot be kept in the state directory: " + log.failed().text};
  const auto id = spec.id;
  auto& entry = live_[id];
  entry.actor = self_->spawn(
      session_actor, std::move(spec), std::make_shared<orchestration::event_log>(std::move(*log)),
      services_of(id, std::move(worker->start)), caf::actor_cast<session_owner_handle>(self_));
  watches_.add(self_, entry.actor, [this, id](const caf::error&) { session_down(id); });
  put(std::move(document));
  return entry.actor;
}

session_services
supervisor_state::services_of(const std::string& id,
                              decltype(prepared_worker::start) start_worker) const {
  session_services s;
  s.now = services_.now;
  s.start_worker = std::move(start_worker);
  s.approval = services_.approval;
  s.read_events = [j = services_.journal, id](std::uint64_t from) { return j->follow(id, from); };
  return s;
}

} // namespace piorch::actors
