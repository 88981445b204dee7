#include "sandbox/kill_starting.hpp"

#include <csignal>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <time.h>

namespace piorch::sandbox {

namespace {
constexpr int tries_at_most = 100; // a millisecond each
}

void kill_starting(pid_t bwrap) {
  // Stopped, it starts nobody behind our back.
  siginfo_t stands{};
  const timespec ms{0, 1'000'000};
  ::kill(bwrap, SIGSTOP);
  for (int tries = 0; tries < tries_at_most; ++tries) {
    if (::waitid(P_PID, static_cast<id_t>(bwrap), &stands,
                 WSTOPPED | WEXITED | WNOWAIT | WNOHANG) != 0 ||
        stands.si_pid != 0)
      break;
    ::nanosleep(&ms, nullptr);
  }
  const std::string number = std::to_string(bwrap);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child; children >> child;)
    ::kill(child, SIGKILL); // not reaped while its parent stands still: the number is its own
  ::kill(bwrap, SIGKILL);
}

} // namespace piorch::sandbox
