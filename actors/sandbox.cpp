#include "actors/sandbox.hpp"

namespace piorch::actors {

namespace {

using step = sandbox::run::step;
using init_message = sandbox::init::message;
using pointer = sandbox_handle::stateful_pointer<sandbox_state>;

void carry_out(pointer self, const broker_handle& owner, step what) {
  auto& s = state(self);
  switch (what) {
    case step::nothing:
      break;
    case step::terminate:
      s.control.send(init_message::terminate, 0);
      tell_later(self, sandbox::run::grace, sandbox_handle(self), grace_over{});
      break;
    case step::kill:
      s.control.kill();
      break;
    case step::clean_up:
      tell(self, owner, sandbox_ended{s.run.result()});
      self->quit();
      break;
  }
}

step take(pointer self, const broker_handle& owner, const init_said& said,
          std::chrono::milliseconds time_limit) {
  auto& s = state(self);
  switch (said.what.what) {
    case init_message::listeners:
      tell(self, owner, sandbox_listening{said.fds});
      return step::nothing;
    case init_message::started:
      if (time_limit.count() > 0)
        tell_later(self, time_limit, sandbox_handle(self), time_limit_reached{});
      tell(self, owner, sandbox_started{said.what.started_us});
      return s.run.on_started();
    case init_message::stopped:
      tell(self, owner, sandbox_stopped{static_cast<int>(said.what.a)});
      return step::nothing;
    case init_message::held:
      tell(self, owner, sandbox_held{said.what.a == 1});
      return step::nothing;
    case init_message::refused_path: {
      const auto nul = said.text.find('\0');
      tell(self, owner,
           path_refused{said.text.substr(0, nul),
                        nul == std::string::npos ? "" : said.text.substr(nul + 1)});
      return step::nothing;
    }
    case init_message::exited:
      return s.run.on_exited(static_cast<int>(said.what.a), said.what.cpu_us,
                             said.what.peak_rss_kib);
    case init_message::failed:
      return s.run.on_failed(said.what.a, static_cast<int>(said.what.b), said.text);
    default:
      return step::nothing;
  }
}

} // namespace

sandbox_handle::behavior_type sandbox_actor(pointer self, broker_handle owner, tree_control control,
                                            std::chrono::milliseconds time_limit) {
  state(self).control = std::move(control);
  harden(self);
  const auto act = [self, owner](step what) { carry_out(self, owner, what); };
  return {
      [=](const init_said& said) { act(take(self, owner, said, time_limit)); },
      [=](const tree_gone& gone) { act(state(self).run.on_gone(gone.diagnostics)); },
      [=](const end_sandbox& end) { act(state(self).run.on_end(end.why)); },
      [=](const deliver_signal& s) {
        state(self).control.send(init_message::signal, static_cast<std::uint32_t>(s.number));
      },
      [=](const resume_command& r) {
        state(self).control.send(init_message::resume, r.foreground);
      },
      [=](const hold_tree& h) {
        state(self).control.send(h.hold ? init_message::hold : init_message::release, 0);
      },
      [=](grace_over) { act(state(self).run.on_grace_over()); },
      [=](time_limit_reached) { act(state(self).run.on_end(sandbox::end_reason::timeout)); },
  };
}

} // namespace piorch::actors
