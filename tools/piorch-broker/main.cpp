// piorch-broker: the process behind one sandbox. Not for people; `piorch exec` and
// `piorch-pi` become it, and the orchestrator starts it.
//   piorch-broker exec FD    FD is the memfd of sandbox/hand_over
//   piorch-broker worker FD  likewise, of piorch-pi
//   piorch-broker serve FD   FD is a socket of ipc/channel
// and by itself, see host_command.hpp:
//   piorch-broker run PARENT_PID MASK IGNORED DIRECTORY WORD...
//   piorch-broker guard PARENT_PID GROUP
#include "tools/piorch-broker/exec_broker.hpp"
#include "tools/piorch-broker/host_command.hpp"
#include "tools/piorch-broker/serve_broker.hpp"
#include "tools/piorch-broker/worker_broker.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "run") == 0)
    piorch::broker::become_host_command(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "guard") == 0)
    piorch::broker::become_group_guard(argc, argv);
  // Before any thread exists: all of them inherit the mask. SIGTSTP and SIGCONT
  // keep their meaning for job control.
  sigset_t set;
  sigfillset(&set);
  for (const int n : {SIGTSTP, SIGCONT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigdelset(&set, n);
  ::pthread_sigmask(SIG_SETMASK, &set, nullptr);
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0) {
    piorch::ipc::unique_fd channel(std::atoi(argv[2]));
    ::fcntl(channel.get(), F_SETFD, FD_CLOEXEC);
    ::signal(SIGPIPE, SIG_IGN);
    piorch::broker::run_serve(std::move(channel));
  }
  const bool is_worker = argc == 3 && std::strcmp(argv[1], "worker") == 0;
  if (!is_worker && (argc != 3 || std::strcmp(argv[1], "exec") != 0)) {
    std::fputs("piorch-broker: started by piorch only\n", stderr);
    return 125;
  }
  auto job = piorch::sandbox::receive(std::atoi(argv[2]));
  if (!job) {
    std::fprintf(stderr, "piorch-broker: %s\n", job.failed().text.c_str());
    return 125;
  }
  if (is_worker)
    piorch::broker::run_worker(std::move(*job));
  piorch::broker::run_exec(std::move(*job));
}
