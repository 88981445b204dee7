#include "actors/worker_supervisor.hpp"

namespace piorch::actors {

using kind = ipc::worker_frame::kind;

namespace {

void refuse(const worker_said& to, const std::string& reason) {
  to.back.send(ipc::write_answer(to.frame.id, false, "", reason));
}

} // namespace

worker_supervisor_state::~worker_supervisor_state() {
  for (const auto& [id, worker] : workers_)
    tell(worker, worker_over{});
  if (options_.close)
    options_.close();
}

void worker_supervisor_state::begin(worker_supervisor_options options) {
  options_ = std::move(options);
  book_ = std::make_unique<orchestration::external_workers>(options_.project, options_.worktrees);
  watches_.add(self_, options_.client, [this](const caf::error&) { self_->quit(); });
}

void worker_supervisor_state::on_said(const worker_said& said) {
  if (!book_->take_frame_id(said.frame.id))
    return refuse(said, "a frame of this id was accepted before");
  switch (said.frame.what) {
    case kind::register_worker:
      return sign_in(said);
    case kind::network:
      return ask(said);
    case kind::unregister:
      return sign_out(said);
  }
}

void worker_supervisor_state::sign_in(const worker_said& said) {
  const auto& f = said.frame;
  orchestration::external_worker worker;
  worker.id = f.worker_id;
  worker.cwd = f.cwd;
  worker.agent = f.agent;
  worker.run = f.run;
  worker.parent = f.parent;
  worker.pid = said.pid;
  const auto now = options_.now();
  if (auto added = book_->add(worker, said.link, f.lease, now); !added)
    return refuse(said, added.failed().text);
  external_worker_options options;
  options.desk = options_.desk;
  options.about.surface = "network";
  options.about.operation = "connect";
  options.about.command = "pi (subagent " + (f.agent.empty() ? "worker" : f.agent) + ")";
  options.about.cwd = f.cwd;
  options.about.agent_name = f.agent;
  options.time_limit = options_.approval_limit;
  options.owner = options_.client;
  options.heartbeat = f.lease ? heartbeat : std::chrono::seconds(0);
  workers_.emplace(f.worker_id, self_->spawn(external_worker_actor, std::move(options)));
  if (f.lease)
    said.back.keep();
  said.back.send(ipc::write_register_reply(f.id, options_.policy,
                                           f.lease ? heartbeat : std::chrono::seconds(0)));
  worker.started_at = now;
  report(worker);
}

void worker_supervisor_state::ask(const worker_said& said) {
  const auto worker = workers_.find(said.frame.worker_id);
  if (worker == workers_.end() || !book_->question(said.frame.worker_id, said.frame.cwd))
    return refuse(said, "no such worker runs in that directory");
  tell(self_, worker->second, worker_asked{said.frame, said.back});
}

void worker_supervisor_state::sign_out(const worker_said& said) {
  const auto& f = said.frame;
  const auto ended =
      book_->end(f.worker_id, f.cwd, {f.exit_code, f.signal, f.reason}, options_.now());
  if (ended.empty())
    return refuse(said, "no such worker runs in that directory");
  said.back.send(ipc::write_answer(f.id, true, "", ""));
  over(ended);
}

void worker_supervisor_state::on_link_closed(std::uint64_t link) {
  over(book_->link_closed(link, options_.now()));
}

void worker_supervisor_state::over(const std::vector<orchestration::external_worker>& ended) {
  for (const auto& worker : ended) {
    if (auto node = workers_.extract(worker.id); !node.empty())
      tell(self_, node.mapped(), worker_over{});
    report(worker);
  }
}

void worker_supervisor_state::report(const orchestration::external_worker& worker) {
  ipc::worker_changed w;
  w.id = worker.id;
  w.cwd = worker.cwd;
  w.agent = worker.agent;
  w.run = worker.run;
  if (!worker.parent.empty())
    w.parent = worker.parent;
  w.pid = worker.pid;
  w.state = orchestration::name_of(worker.state);
  w.started_at = orchestration::to_text(worker.started_at);
  if (worker.ended_at)
    w.ended_at = orchestration::to_text(*worker.ended_at);
  w.exit_code = worker.exit.exit_code;
  w.signal = worker.exit.signal;
  if (!worker.exit.reason.empty())
    w.reason = worker.exit.reason;
  w.number = book_->added();
  tell(self_, caf::actor_cast<client_handle>(options_.client), worker_news{std::move(w)});
}

worker_supervisor_handle::behavior_type
worker_supervisor_actor(worker_supervisor_state::pointer self, worker_supervisor_options options) {
  harden(self);
  state(self).begin(std::move(options));
  return {
      [=](const worker_said& said) { state(self).on_said(said); },
      [=](const worker_link_closed& closed) { state(self).on_link_closed(closed.link); },
  };
}

} // namespace piorch::actors
