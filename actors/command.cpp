#include "actors/command.hpp"

#include "sandbox/environment.hpp"
#include "sandbox/remote_job.hpp"

#include <unistd.h>

namespace piorch::actors {

namespace {

using pointer = command_handle::stateful_pointer<command_state>;

std::string default_shell() { return ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"; }

std::string in_one_line(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> entries(const std::optional<ipc::environment>& from) {
  if (!from)
    return sandbox::environment::of_this_process().entries();
  std::vector<std::string> out;
  for (const auto& [name, value] : *from)
    out.push_back(name + "=" + value);
  return out;
}

sandbox::remote_job job_of(const ipc::command_run_params& what) {
  sandbox::remote_job job;
  job.arguments = what.command ? std::vector<std::string>{what.shell.value_or(default_shell()),
                                                          "-c", *what.command}
                               : what.argv;
  job.environment = entries(what.env);
  job.directory = what.cwd;
  job.command = what.command ? *what.command : in_one_line(what.argv);
  job.time_limit = what.timeout.value_or(std::chrono::milliseconds(0));
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
  return r;
}

void cancel(pointer self) {
  state(self).cancelled = true;
  tell(self, state(self).broker, stop_broker{});
}

void finish(pointer self, const client_handle& client, const std::string& id,
            const broker_ended& end) {
  command_done done{id, result_of(end, state(self).cancelled), end.problem};
  // Cancelled before it ran, or its broker had to be killed: cancelled all the same.
  if (state(self).cancelled)
    done.problem.reset();
  tell(self, client, std::move(done));
  self->quit();
}

} // namespace

command_handle::behavior_type command_actor(pointer self, client_handle client,
                                            ipc::command_run_params what, broker_starter start,
                                            approval_desk_handle desk) {
  harden(self);
  auto& s = state(self);
  const auto job = job_of(what);
  orchestration::approval_question about;
  about.command = job.command;
  about.cwd = job.directory;
  s.broker = self->spawn(remote_broker_actor, broker_owner_handle(command_handle(self)),
                         std::move(start), sandbox::job_text(job));
  s.neighbours.add(self, client, [=](const caf::error&) { cancel(self); });
  s.neighbours.add(self, s.broker, [=, id = what.id](const caf::error& e) {
    if (!e)
      return; // it said broker_ended before
    broker_ended lost;
    lost.problem = error{failure::fault, "internal error: " + text(self->system(), e)};
    finish(self, client, id, lost);
  });
  if (what.input) {
    tell(self, s.broker, send_input{std::move(*what.input)});
    tell(self, s.broker, close_input{});
  }
  return {
      [=](const broker_started&) {},
      [=, id = what.id](const broker_output& out) {
        tell(self, client, command_chunk{id, out.is_stderr, out.bytes});
      },
      [=](const broker_event& event) { // other events are listed in the report
        pass_to_desk(desk, event, about, caf::actor_cast<caf::actor>(client), state(self).broker);
      },
      [=, id = what.id](const broker_ended& end) { finish(self, client, id, end); },
      [=](const cancel_command&) { cancel(self); },
      [=](const grant_output& grant) { tell(self, state(self).broker, grant); },
  };
}

} // namespace piorch::actors
