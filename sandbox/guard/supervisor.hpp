// The create guard's supervisor: two threads of PID 1 that carry out the creating calls
// of every other process of the sandbox.
//
// Why PID 1: it can be neither killed, stopped nor traced from inside, its end is
// the end of the sandbox, it sees exactly the sandbox's mounts (so no mistake in
// a path can reach the host), and it is never filtered itself.
//
// How it comes to be: PID 1 calls make_handoff and forks; the child calls
// install_and_hand_over just before it executes the command and continues once
// the supervisor works; PID 1 calls start_supervisor. PID 1 must keep CAP_SYS_PTRACE of
// the sandbox's user namespace and nothing else, and must not be dumpable.
#pragma once

#include "sandbox/guard/operations.hpp"

namespace piorch::sandbox::guard {

struct handoff {
  int supervisor = -1;
  int command = -1;
};
bool make_handoff(handoff& h);

// In the child, with no_new_privs: 0, or -errno (then nothing is guarded: do not go on).
// From here on every creating call waits until the supervisor serves it.
int install_and_hand_over(int command_end);

// In PID 1: takes the listener and starts the threads. 0 or -errno. Everything it needs
// lives as long as the process. `sink` is called from the threads. Releases the child.
int start_supervisor(int supervisor_end, const std::vector<rule>& protected_names,
                     refusal_sink sink);

} // namespace piorch::sandbox::guard
