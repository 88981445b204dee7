// Whether this machine takes system calls of the 32-bit ABI. Some kernels are built or started
// without them, and some hypervisors do not pass them on: a program that tries dies.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace piorch::test {

inline bool has_calls_32() {
#if defined(__x86_64__)
  const pid_t child = ::fork();
  if (child == 0) {
    long result = 20; // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    ::_exit(result > 0 ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
#else
  return false;
#endif
}

} // namespace piorch::test
