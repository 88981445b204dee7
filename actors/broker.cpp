#include "actors/broker.hpp"

namespace piorch::actors {

namespace {

using pointer = broker_handle::stateful_pointer<broker_state>;

void finish(pointer self, const broker_port& port, const sandbox::outcome& how) {
  if (std::exchange(state(self).ended, true))
    return;
  port.ended(how);
}

} // namespace

broker_handle::behavior_type broker_actor(pointer self, broker_port port, tree_control control,
                                          std::chrono::milliseconds time_limit,
                                          std::function<void(sandbox_handle)> ready) {
  harden(self);
  auto& s = state(self);
  s.sandbox = self->spawn(sandbox_actor, broker_handle(self), control, time_limit);
  // A sandbox actor that ends without its last word has crashed: the tree is
  // ended here, and the clean-up runs all the same.
  s.children.add(self, s.sandbox, [=](const caf::error& why) {
    if (!why || state(self).ended)
      return;
    control.kill();
    sandbox::outcome how;
    how.problem = "internal error in the sandbox actor: " + text(self->system(), why);
    finish(self, port, how);
  });
  ready(s.sandbox);
  return {
      [=](const sandbox_started& started) { port.started(started.monotonic_us); },
      [=](const sandbox_listening& listening) { port.listening(listening.fds); },
      [=](const sandbox_stopped& stopped) { port.stopped(stopped.signal); },
      [=](const sandbox_held& h) {
        if (port.held)
          port.held(h.everything);
      },
      [=](const path_refused& refused) { port.refused(refused); },
      [=](const sandbox_ended& ended) { finish(self, port, ended.how); },
      [=](const end_sandbox& end) { tell(self, state(self).sandbox, end); },
      [=](const deliver_signal& signal) { tell(self, state(self).sandbox, signal); },
      [=](const resume_command& resume) { tell(self, state(self).sandbox, resume); },
      [=](const hold_tree& hold) { tell(self, state(self).sandbox, hold); },
  };
}

} // namespace piorch::actors
