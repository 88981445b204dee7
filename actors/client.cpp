#include "actors/client.hpp"

#include "actors/failures.hpp"
#include "config/limits.hpp"
#include "ipc/json_text.hpp"

#include <nlohmann/json.hpp>

namespace piorch::actors {

namespace {

// Answers that come at once or never; and those that take as long as a run takes.
constexpr span soon = std::chrono::seconds(10);
constexpr span whenever = std::chrono::hours(24 * 366);
constexpr span until_gone = std::chrono::seconds(30);

std::string text_of(const ipc::session_answer& a) { return ipc::write_text(a); }
std::string text_of(const ipc::session_status_result& a) { return ipc::write_text(a); }
std::string text_of(const ipc::session_follow_result& a) { return ipc::write(a).dump(); }
std::string text_of(const done&) { return "{}"; }
std::string text_of(const ipc::command_list_result& a) { return ipc::write_json(ipc::write(a)); }
std::string text_of(const ipc::command_report_result& a) { return ipc::write_json(ipc::write(a)); }
std::string text_of(const ipc::approval_list_result& a) { return ipc::write_json(ipc::write(a)); }

} // namespace

void client_state::begin(client_port port, client_services services) {
  port_ = std::move(port);
  services_ = std::move(services);
}

void client_state::on_asked(const client_asked& asked) {
  if (!initialized_ && !std::holds_alternative<ipc::initialize_params>(asked.call)) {
    if (asked.id.present())
      send(ipc::rpc_failure(asked.id, {ipc::rpc_code::invalid_request,
                                       "the first request must be \"initialize\"", nullptr}));
    return;
  }
  if (++in_flight_ > limits::client_requests)
    return refuse(asked.id,
                  {failure::limit_reached, "too many requests in flight (" +
                                               std::to_string(limits::client_requests) +
                                               "); wait for answers before sending more"});
  std::visit([&](const auto& params) { carry_out(asked.id, params); }, asked.call);
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::initialize_params& p) {
  initialized_ = true;
  answer_text(id, ipc::write(services_.about).dump());
  if (p.approvals)
    tell(self_, services_.commands.desk,
         join_approvers{caf::actor_cast<caf::actor>(client_handle(self_))});
}

// --- commands ---

void client_state::carry_out(const ipc::rpc_id& id, const ipc::command_run_params& p) {
  if (commands_.count(p.id) != 0)
    return refuse(id,
                  {failure::usage, "\"id\" must be new: a command \"" + p.id + "\" is running"});
  command_handle command = self_->spawn(command_actor, client_handle(self_), p, services_.commands);
  tell(self_, services_.keeper, watch_command{caf::actor_cast<caf::actor>(command)});
  commands_.emplace(p.id, running{id, std::move(command)});
}

// A command that has ended meanwhile is no mistake of the client.
void client_state::carry_out(const ipc::rpc_id& id, const ipc::command_cancel_params& p) {
  if (const auto command = commands_.find(p.id); command != commands_.end())
    tell(self_, command->second.actor, cancel_command{});
  answer_text(id, "{}");
}

void client_state::on_chunk(const command_chunk& chunk) {
  const auto command = commands_.find(chunk.id);
  if (command == commands_.end())
    return;
  send(ipc::command_output_line(chunk.id, chunk.is_stderr, chunk.bytes),
       [this, to = command->second.actor, bytes = chunk.bytes.size()] {
         tell(self_, to, grant_output{bytes});
       });
}

void client_state::on_done(const command_done& done) {
  const auto command = commands_.find(done.id);
  if (command == commands_.end())
    return;
  const ipc::rpc_id id = command->second.asked_by;
  commands_.erase(command);
  if (done.problem)
    refuse(id, *done.problem);
  else
    answer_text(id, ipc::write(done.how).dump());
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::command_list_params& p) {
  ask(self_, whenever, services_.sandboxes, p)
      .then([this, id](const ipc::command_list_result& all) { answer_text(id, text_of(all)); },
            [this, id](const caf::error& e) { refuse(id, why(self_->system(), e, "list")); });
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::command_report_params& p) {
  ask(self_, soon, services_.sandboxes, p)
      .then([this, id](const ipc::command_report_result& r) { answer_text(id, text_of(r)); },
            [this, id](const caf::error& e) { refuse(id, why(self_->system(), e, "list")); });
}

// --- sessions ---

template <class Answer, class Question>
void client_state::ask_supervisor(const ipc::rpc_id& id, const Question& what, span limit) {
  if (!services_.supervisor)
    return refuse(id, {failure::sandbox_unavailable, "this orchestrator runs no sessions"});
  ask(self_, limit, services_.supervisor, what)
      .then([this, id](const Answer& answer) { answer_text(id, text_of(answer)); },
            [this, id](const caf::error& e) { refuse(id, why(self_->system(), e, "supervisor")); });
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_start_params& p) {
  ask_supervisor<ipc::session_answer>(id, p, whenever);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_follow_up_params& p) {
  ask_supervisor<ipc::session_answer>(id, p, whenever);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_handoff_params& p) {
  ask_supervisor<ipc::session_answer>(id, p, whenever);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_wait_params& p) {
  ask_supervisor<ipc::session_answer>(id, p, whenever);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_status_params& p) {
  ask_supervisor<ipc::session_status_result>(id, p, p.after ? whenever : soon);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_abort_params& p) {
  ask_supervisor<done>(id, p, until_gone);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_stop_params& p) {
  ask_supervisor<done>(id, p, until_gone);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_follow_params& p) {
  const follow_session what{p, caf::actor_cast<caf::actor>(client_handle(self_))};
  ask_supervisor<ipc::session_follow_result>(id, what, soon);
}
void client_state::carry_out(const ipc::rpc_id& id, const ipc::session_unfollow_params& p) {
  if (services_.supervisor)
    tell(self_, services_.supervisor,
         unfollow_session{p.session_id, caf::actor_cast<caf::actor>(client_handle(self_))});
  answer_text(id, "{}");
}

void client_state::on_events(const session_events& events) {
  const auto from = caf::actor_cast<event_source_handle>(self_->current_sender());
  send_lines(events.lines, [this, from, bytes = events.lines.size()] {
    if (from)
      tell(self_, from, events_taken{bytes});
  });
}

// --- approvals ---

void client_state::on_approval(const approval_shown& shown) {
  const ipc::rpc_id request("\"s" + std::to_string(++last_request_) + "\"");
  asking_.emplace(request, shown.request.id);
  send(ipc::rpc_request(request, ipc::approval_request_method, ipc::write(shown.request)));
}

void client_state::on_approval_over(const approval_over& over) {
  for (auto at = asking_.begin(); at != asking_.end(); ++at)
    if (at->second == over.id) {
      asking_.erase(at);
      break;
    }
  send(ipc::rpc_notification(ipc::approval_cancelled_method,
                             ipc::write(ipc::approval_cancelled{over.id})));
}

void client_state::on_answered(const ipc::rpc_message& answer) {
  const auto at = asking_.find(answer.id);
  if (at == asking_.end())
    return; // of a question that is over meanwhile
  const auto id = at->second;
  asking_.erase(at);
  ipc::approval_decision no;
  no.reason = "the client could not ask: " + answer.failed.message;
  if (answer.what == ipc::rpc_message::kind::response) {
    if (auto decision = ipc::read<ipc::approval_decision>(answer.result))
      return give_answer(id, *decision);
    else
      no.reason = "the client's answer is not understood: " + decision.failed().text;
  }
  give_answer(id, no);
}

// Somebody else may have been faster; then approval.cancelled is on its way.
void client_state::give_answer(const std::string& id, const ipc::approval_decision& decision) {
  const auto me = caf::actor_cast<caf::actor>(client_handle(self_));
  ask(self_, soon, services_.commands.desk, answer_pending{id, decision, me})
      .then([](const done&) {}, [](const caf::error&) {});
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::approval_list_params& p) {
  ask(self_, whenever, services_.commands.desk, p)
      .then([this, id](const ipc::approval_list_result& all) { answer_text(id, text_of(all)); },
            [this, id](const caf::error& e) { refuse(id, why(self_->system(), e, "desk")); });
}

void client_state::carry_out(const ipc::rpc_id& id, const ipc::approval_answer_params& p) {
  const auto me = caf::actor_cast<caf::actor>(client_handle(self_));
  ask(self_, soon, services_.commands.desk, answer_pending{p.id, p.decision, me})
      .then([this, id](const done& d) { answer_text(id, text_of(d)); },
            [this, id](const caf::error& e) { refuse(id, why(self_->system(), e, "desk")); });
}

// --- workers of pi-subagents ---

void client_state::carry_out(const ipc::rpc_id& id, const ipc::worker_supervise_params& p) {
  if (!services_.supervise)
    return refuse(id, {failure::sandbox_unavailable, "this orchestrator supervises no workers"});
  if (workers_) // of a Pi session that is over
    caf::anon_send_exit(workers_, caf::exit_reason::user_shutdown);
  workers_ = nullptr;
  auto opened = services_.supervise(p, caf::actor_cast<caf::actor>(client_handle(self_)));
  if (!opened)
    return refuse(id, opened.failed());
  workers_ = std::move(opened->supervisor);
  answer_text(id, ipc::write(opened->place).dump());
}

void client_state::on_worker(const worker_news& news) {
  send(ipc::rpc_notification(ipc::worker_changed_method, ipc::write(news.worker)));
}

// --- the end ---

void client_state::carry_out(const ipc::rpc_id& id, const ipc::shutdown_params&) {
  const auto leave_now = [this] { tell(self_, services_.keeper, leave{}); };
  ask(self_, until_gone, services_.keeper, end_everything{})
      .then(
          [this, id, leave_now](const done&) {
            answer_text(id, "{}");
            leave_now();
          },
          [this, id, leave_now](const caf::error& e) {
            refuse(id, why(self_->system(), e, "orchestrator"));
            leave_now();
          });
}

void client_state::on_gone() {
  out_.clear();
  port_.shut();
  self_->quit(); // commands watch us, sessions know who waits for them
}

// --- writing ---

void client_state::answer_text(const ipc::rpc_id& id, const std::string& result_json) {
  --in_flight_;
  if (!id.present())
    return;
  std::string line = ipc::rpc_result_line(id, result_json);
  if (line.size() > limits::protocol_line_bytes)
    line = ipc::rpc_failure(id, {ipc::rpc_code::internal_error,
                                 "the answer is longer than a line may be (16 MiB)", nullptr});
  send(std::move(line));
}

void client_state::refuse(const ipc::rpc_id& id, const error& why) {
  --in_flight_;
  if (id.present())
    send(ipc::rpc_failure(id, ipc::to_rpc(why)));
}

void client_state::send(std::string line, std::function<void()> written) {
  out_.push_back({line.size() + 1, std::move(written)});
  port_.send(std::move(line));
}

void client_state::send_lines(ipc::shared_bytes lines, std::function<void()> written) {
  out_.push_back({lines.size(), std::move(written)});
  port_.send_lines(std::move(lines));
}

void client_state::on_written(std::size_t bytes) {
  written_ += bytes;
  while (!out_.empty() && written_ >= out_.front().bytes) {
    written_ -= out_.front().bytes;
    const auto written = std::move(out_.front().written);
    out_.pop_front();
    if (written)
      written();
  }
}

client_handle::behavior_type client_actor(client_state::pointer self, client_port port,
                                          client_services services) {
  harden(self);
  auto& s = state(self);
  s.begin(std::move(port), std::move(services));
  return {
      [=](const client_asked& asked) { state(self).on_asked(asked); },
      [=](const client_answered& a) { state(self).on_answered(a.answer); },
      [=](const client_written& written) { state(self).on_written(written.bytes); },
      [=](const client_gone&) { state(self).on_gone(); },
      [=](const command_chunk& chunk) { state(self).on_chunk(chunk); },
      [=](const command_done& done) { state(self).on_done(done); },
      [=](const session_events& events) { state(self).on_events(events); },
      [=](const approval_shown& shown) { state(self).on_approval(shown); },
      [=](const approval_over& over) { state(self).on_approval_over(over); },
      [=](const worker_news& news) { state(self).on_worker(news); },
      [=](const close_client&) { state(self).on_gone(); },
  };
}

} // namespace piorch::actors
