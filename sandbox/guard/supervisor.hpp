// The create guard's supervisor: two threads of PID 1 that carry out the creating calls
// of every other process of the sandbox.
//
// Why PID 1: it can be neither killed, stopped nor traced from inside, its end is
// the end of the sandbox, it sees exactly the sandbox's mounts (so no mistake in
// a path can reach the host), and it is never filtered itself.
//
// How it comes to be: PID 1 calls make_handoff and forks; the child calls
// install_and_hand_over just before it executes the command; PID 1 calls start_supervisor,
// which gets ready meanwhile. The child goes on once the protected names have been looked
// at, and its first creating call waits for the first thread. PID 1 must keep CAP_SYS_PTRACE of
// the sandbox's user namespace and nothing else, and must not be dumpable.
#pragma once

#include "sandbox/guard/operations.hpp"

#include <linux/filter.h>

namespace piorch::sandbox::guard {

struct handoff {
  int supervisor = -1;
  int command = -1;
};
bool make_handoff(handoff& h);

// In the child, with no_new_privs: 0, or -errno (then nothing is guarded: do not go on).
// `other` is the command's own system call filter, which is installed with the guard's as
// one. From here on every creating call waits until the supervisor serves it.
int install_and_hand_over(int command_end, const sock_fprog& other);

// In PID 1: starts the threads and takes the listener. 0 or -errno: end the process then, and
// with it the child. Everything it needs lives as long as the process. `sink` is called from
// the threads. `one_root`: the command's own filter denies whatever changes a root directory
// (chroot, pivot_root, new user and mount namespaces), so nobody's is looked up. `trees`: the
// writable ones that the host has at the same place (git_file_places).
int start_supervisor(int supervisor_end, const std::vector<rule>& protected_names,
                     const std::vector<std::string>& trees, refusal_sink sink,
                     bool one_root = false);

// In PID 1, when every other process has gone: finishes what was put off.
void end_supervisor();

} // namespace piorch::sandbox::guard
