// A process for which the kernel is one from before Linux 5.19, as far as seccomp tells.
#pragma once

#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::test {

// From now on this process and its children are told that there is no WAIT_KILLABLE_RECV.
inline bool pretend_older_kernel() {
  constexpr unsigned wait_killable_recv = 1u << 5;
  sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_seccomp},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + 8},
      {BPF_JMP | BPF_JSET | BPF_K, 0, 1, wait_killable_recv},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EINVAL},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

// Runs `body` in such a child; it returns whether all was well. 0 when it was.
template <class Body> int under_an_older_kernel(Body body) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(!pretend_older_kernel() ? 2 : body() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace piorch::test
