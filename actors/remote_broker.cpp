#include "actors/remote_broker.hpp"

#include "sandbox/remote_job.hpp"
#include "sandbox/remote_question.hpp"

namespace piorch::actors {

namespace {

using pointer = remote_broker_handle::stateful_pointer<remote_broker_state>;
using ipc::frame_type;

// A broker ends its tree half a second after it was asked, and itself right then.
constexpr std::chrono::milliseconds time_to_end{900};

broker_ended ended_by(const std::string& report) {
  broker_ended out;
  auto read = sandbox::read_report(report);
  if (!read) {
    out.problem = read.failed();
    return out;
  }
  out.how = read->how;
  out.duration = read->duration;
  for (auto& e : read->network)
    out.network.push_back({e.host, e.port, e.decision, e.source});
  for (auto& r : read->refused_paths)
    out.refused_paths.push_back({r.path, r.rule});
  return out;
}

broker_ended not_run(error why) {
  broker_ended out;
  out.problem = std::move(why);
  return out;
}

void take(pointer self, const broker_owner_handle& owner, const broker_frame& f) {
  auto& s = state(self);
  switch (f.what) {
    case frame_type::started:
      tell(self, owner, broker_started{});
      break;
    case frame_type::output:
    case frame_type::error_output:
      tell(self, owner, broker_output{f.what == frame_type::error_output, f.payload});
      break;
    case frame_type::network_event:
    case frame_type::refused_file:
    case frame_type::approval_ask:
    case frame_type::approval_cancel:
      tell(self, owner, broker_event{f.what, f.payload});
      break;
    case frame_type::exit_report:
      s.end = ended_by(f.payload);
      break;
    case frame_type::failed:
      s.end = not_run(sandbox::read_failure(f.payload));
      break;
    default: // output_end: the report follows; the others are ours to say
      break;
  }
}

void stop(pointer self) {
  if (std::exchange(state(self).stopping, true))
    return;
  state(self).line.send(frame_type::stop, {});
  tell_later(self, time_to_end, remote_broker_handle(self), broker_overdue{});
}

void finish(pointer self, const broker_owner_handle& owner, const std::string& why) {
  auto& s = state(self);
  tell(self, owner,
       s.end ? *s.end
             : not_run({failure::fault, "the broker process was lost" +
                                            (why.empty() ? std::string() : " (" + why + ")") +
                                            "; everything it ran has ended with it"}));
  s.line = {};
  self->quit();
}

std::string answer_text(const answer_approval& a) {
  return sandbox::answer_text(
      {a.id, a.decision.allow, a.decision.source.value_or(""), a.decision.reason.value_or("")});
}

} // namespace

remote_broker_handle::behavior_type remote_broker_actor(pointer self, broker_owner_handle owner,
                                                        broker_starter start, std::string job) {
  harden(self);
  state(self).owners.add(self, owner, [=](const caf::error&) { stop(self); });
  state(self).line = start(remote_broker_handle(self), std::move(job));
  return {
      [=](const send_input& input) { state(self).line.input(input.bytes); },
      [=](const close_input&) { state(self).line.close_input(); },
      [=](const grant_output& grant) { state(self).line.grant(grant.bytes); },
      [=](const deliver_signal& signal) {
        state(self).line.send(frame_type::signal, std::string(1, static_cast<char>(signal.number)));
      },
      [=](const answer_approval& answer) {
        state(self).line.send(frame_type::approval_answer, answer_text(answer));
      },
      [=](const stop_broker&) { stop(self); },
      [=](const broker_frame& frame) { take(self, owner, frame); },
      [=](const broker_gone& gone) { finish(self, owner, gone.why); },
      [=](const broker_overdue&) { state(self).line.kill(); },
  };
}

} // namespace piorch::actors
