#include "actors/command.hpp"

#include "sandbox/environment.hpp"
#include "sandbox/remote_job.hpp"

namespace piorch::actors {

namespace {

constexpr const char* host_question = "host"; // the one that a command asks itself

std::vector<std::string> entries(const std::optional<ipc::environment>& from) {
  if (!from)
    return sandbox::environment::of_this_process().entries();
  std::vector<std::string> out;
  for (const auto& [name, value] : *from)
    out.push_back(name + "=" + value);
  return out;
}

std::string shown(const ipc::command_run_params& what) {
  return what.command ? *what.command : orchestration::in_words(what.argv);
}

// Complete: another shell than the usual one makes another command of the same words.
std::string shown_for_host(const ipc::command_run_params& what) {
  const auto shell = what.command ? what.shell.value_or("") : std::string();
  for (const char* usual : {"", "/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh"})
    if (shell == usual)
      return shown(what);
  return orchestration::in_words({shell, "-c", *what.command});
}

sandbox::remote_job job_of(const ipc::command_run_params& what) {
  sandbox::remote_job job;
  job.arguments = what.command
                      ? std::vector<std::string>{what.shell.value_or(sandbox::default_shell()),
                                                 "-c", *what.command}
                      : what.argv;
  job.environment = entries(what.env);
  job.directory = what.cwd;
  job.command = shown(what);
  job.has_input = what.input.has_value();
  job.ask = true; // the desk knows whether anybody is there
  return job;
}

ipc::command_run_result result_of(const broker_ended& end, bool cancelled) {
  ipc::command_run_result r;
  if (end.how.signal != 0)
    r.signal = end.how.signal;
  else
    r.exit_code = end.how.exit_code;
  r.timed_out = end.how.timed_out;
  r.cancelled = cancelled && !end.how.timed_out;
  r.duration = end.duration;
  r.network = end.network;
  r.refused_paths = end.refused_paths;
  return r;
}

std::string why_not(const ipc::approval_decision& no) {
  return no.reason.value_or("denied by " + no.source.value_or("somebody"));
}

} // namespace

void command_state::begin(client_handle client, ipc::command_run_params what,
                          command_services services) {
  client_ = std::move(client);
  what_ = std::move(what);
  services_ = std::move(services);
  about_.command = shown(what_);
  about_.cwd = what_.cwd;
  if (services_.sandboxes && services_.new_id) {
    id_ = services_.new_id();
    tell(self_, services_.sandboxes, command_begun{id_, what_.id, about_.command, what_.cwd});
  }
  neighbours_.add(self_, client_, [this](const caf::error&) { cancel(); });
  if (services_.settings) {
    auto read = services_.settings();
    if (!read) {
      broker_ended refused;
      refused.problem = std::move(read).failed();
      return finish(refused);
    }
    settings_ = std::move(*read);
  }
  if (auto prefix = orchestration::preflight_prefix(settings_, about_.command))
    ask_for_host("hostIPC.preflightCommandPrefixes: " + *prefix, {});
  else
    start(false, what_.timeout.value_or(std::chrono::milliseconds(0)));
}

void command_state::start(bool on_host, std::chrono::milliseconds time_limit) {
  auto job = job_of(what_);
  job.command_id = id_;
  job.on_host = on_host_ = on_host;
  job.time_limit = time_limit;
  foreign_ = unsent_;
  broker_ = self_->spawn(remote_broker_actor, broker_owner_handle(command_handle(self_)),
                         services_.start_broker, sandbox::job_text(job));
  neighbours_.add(self_, broker_, [this](const caf::error& e) {
    if (!e)
      return; // it said broker_ended before
    broker_ended lost;
    lost.problem = error{failure::fault, "internal error: " + text(self_->system(), e)};
    finish(lost);
  });
  if (what_.input) {
    tell(self_, broker_, send_input{*what_.input});
    tell(self_, broker_, close_input{});
  }
}

// -- on the host -------------------------------------------------------------------

// What is approved is exactly what is shown: the complete command and its directory.
void command_state::ask_for_host(std::string policy, std::string warning) {
  auto question = about_;
  question.command = shown_for_host(what_);
  if (question.command.size() > orchestration::shown_command_bytes) {
    answer_approval no;
    no.decision.reason = "the command is too long to be shown to somebody (" +
                         std::to_string(question.command.size()) + " bytes, at most " +
                         std::to_string(orchestration::shown_command_bytes) + ")";
    asking_ = true;
    return on_answer(no);
  }
  asking_ = true;
  question.surface = "host-ipc";
  question.operation = "execute-host";
  question.matched_policy = std::move(policy);
  question.warning = std::move(warning);
  tell(self_, services_.desk,
       approval_wanted{host_question, std::move(question), settings_.approvals.timeout,
                       caf::actor_cast<caf::actor>(client_),
                       caf::actor_cast<caf::actor>(command_handle(self_))});
}

void command_state::on_answer(const answer_approval& answer) {
  if (!std::exchange(asking_, false))
    return; // cancelled meanwhile
  const auto limit = what_.timeout.value_or(std::chrono::milliseconds(0));
  if (!first_) {
    if (answer.decision.allow)
      return start(true, limit);
    broker_ended refused;
    refused.problem = error{failure::approval_unavailable,
                            "not run: it would run on the host, and that was not allowed: " +
                                why_not(answer.decision)};
    return finish(refused);
  }
  if (answer.decision.allow) {
    say(orchestration::retry_marker);
    const auto spent = first_->duration;
    return start(true, limit.count() > 0 ? limit - spent : limit);
  }
  say("piorch: not run again on the host: " + why_not(answer.decision) + "\n");
  finish(*std::exchange(first_, std::nullopt));
}

// Only a command that really ran in the sandbox, failed by itself, and has time left.
bool command_state::wants_retry(const broker_ended& end) const {
  const bool failed = !end.problem && end.how.signal == 0 && end.how.exit_code != 0;
  const bool has_time = !what_.timeout || end.duration < *what_.timeout;
  return settings_.host_ipc.mode == config::host_ipc_mode::ask &&
         settings_.host_ipc.retry_on_unix_socket_error && !on_host_ && !cancelled_ && failed &&
         !end.how.timed_out && has_time && refusal_.seen();
}

// -- while it runs -------------------------------------------------------------------

void command_state::on_output(const broker_output& out) {
  if (out.is_stderr && settings_.host_ipc.retry_on_unix_socket_error && !on_host_)
    refusal_.take(out.bytes);
  unsent_ += out.bytes.size();
  tell(self_, client_, command_chunk{what_.id, out.is_stderr, out.bytes});
}

void command_state::say(std::string line) {
  unsent_ += line.size();
  tell(self_, client_, command_chunk{what_.id, true, std::move(line)});
}

// A broker gets credit for its own bytes only.
void command_state::on_grant(const grant_output& grant) {
  unsent_ -= std::min(unsent_, grant.bytes);
  const auto others = std::min(foreign_, grant.bytes);
  foreign_ -= others;
  if (broker_ && grant.bytes > others)
    tell(self_, broker_, grant_output{grant.bytes - others});
}

void command_state::on_event(const broker_event& event) {
  if (!id_.empty())
    note(event);
  // other events are listed in the report
  pass_to_desk(services_.desk, event, about_, caf::actor_cast<caf::actor>(client_), broker_);
}

void command_state::note(const broker_event& event) {
  command_noted n{id_, {}, {}};
  if (event.what == ipc::frame_type::network_event) {
    if (auto e = sandbox::read_entry(event.json))
      n.connection = {e->host, e->port, e->decision, e->source};
  } else if (event.what == ipc::frame_type::refused_file) {
    if (auto r = sandbox::read_refused(event.json))
      n.refused = {r->path, r->rule};
  }
  if (n.connection || n.refused)
    tell(self_, services_.sandboxes, std::move(n));
}

// -- the end ---------------------------------------------------------------------

void command_state::on_ended(const broker_ended& end) {
  broker_ = nullptr;
  if (wants_retry(end)) {
    first_ = end;
    return ask_for_host("hostIPC.retryOnUnixSocketError", orchestration::retry_warning);
  }
  finish(end);
}

void command_state::cancel() {
  cancelled_ = true;
  if (broker_)
    tell(self_, broker_, stop_broker{});
  if (!std::exchange(asking_, false))
    return;
  tell(self_, services_.desk,
       approval_unwanted{host_question, caf::actor_cast<caf::actor>(command_handle(self_))});
  finish(first_.value_or(broker_ended{}));
}

void command_state::finish(const broker_ended& end) {
  command_done done{what_.id, result_of(end, cancelled_), end.problem};
  done.how.ran_on_host = on_host_ && !end.problem;
  if (on_host_ && first_) {
    done.how.duration += first_->duration;
    done.how.network = first_->network;
    done.how.refused_paths = first_->refused_paths;
  }
  // Cancelled before it ran, or its broker had to be killed: cancelled all the same.
  if (cancelled_)
    done.problem.reset();
  if (!id_.empty())
    tell(self_, services_.sandboxes, command_over{id_});
  tell(self_, client_, std::move(done));
  self_->quit();
}

command_handle::behavior_type command_actor(command_state::pointer self, client_handle client,
                                            ipc::command_run_params what,
                                            command_services services) {
  harden(self);
  state(self).begin(std::move(client), std::move(what), std::move(services));
  return {
      [=](const broker_started&) {},
      [=](const broker_output& out) { state(self).on_output(out); },
      [=](const broker_event& event) { state(self).on_event(event); },
      [=](const broker_ended& end) { state(self).on_ended(end); },
      [=](const answer_approval& answer) { state(self).on_answer(answer); },
      [=](const cancel_command&) { state(self).cancel(); },
      [=](const grant_output& grant) { state(self).on_grant(grant); },
  };
}

} // namespace piorch::actors
