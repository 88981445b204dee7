#include "tools/piorch-init/command.hpp"

#include "sandbox/guard/supervisor.hpp"
#include "tools/piorch-init/guarding.hpp"
#include "tools/piorch-init/hold.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::init {

namespace {

struct start_failure {
  wire::stage where;
  int error;
};

void limit(__rlimit_resource what, std::uint64_t to) {
  rlimit now{};
  ::getrlimit(what, &now);
  if (to < now.rlim_max)
    now.rlim_max = to;
  if (now.rlim_cur > now.rlim_max)
    now.rlim_cur = now.rlim_max;
  ::setrlimit(what, &now);
}

void restore_signals(const job& j) {
  for (int n = 1; n < NSIG; ++n)
    if (n != SIGKILL && n != SIGSTOP)
      ::signal(n, (j.ignored_signals >> (n - 1)) & 1 ? SIG_IGN : SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  for (int n = 1; n <= 64; ++n)
    if ((j.signal_mask >> (n - 1)) & 1)
      sigaddset(&mask, n);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

void close_all_but(int a, int b) {
  const auto low = static_cast<unsigned>(a < b ? a : b),
             high = static_cast<unsigned>(a < b ? b : a);
  unsigned from = 3;
  for (const unsigned kept : {low, high}) {
    if (kept < from || kept == ~0u) // -1: there is only one
      continue;
    if (kept > from)
      ::close_range(from, kept - 1, 0);
    from = kept + 1;
  }
  ::close_range(from, ~0u, 0);
}

// execvpe answers EACCES when a directory of PATH may not be searched; only a
// program that is there counts as one that cannot be executed.
bool is_there(const char* program) {
  if (std::strchr(program, '/'))
    return true;
  const char* at = std::getenv("PATH");
  while (at && *at) {
    const char* end = ::strchrnul(at, ':');
    char path[PATH_MAX];
    const int n =
        std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(end - at), at, program);
    if (n > 0 && n < static_cast<int>(sizeof path) && ::access(path, F_OK) == 0)
      return true;
    at = *end ? end + 1 : end;
  }
  return false;
}

[[noreturn]] void become_command(const job& j, int report, guarding& guard) {
  const auto give_up = [report](wire::stage where) {
    const start_failure f{where, errno};
    [[maybe_unused]] auto n = ::write(report, &f, sizeof f);
    ::_exit(127);
  };
  // A process group of its own: kill(0, …) would otherwise reach the caller's
  // group outside, which no PID namespace prevents.
  ::setpgid(0, 0);
  if (j.terminal >= 0)
    ::tcsetpgrp(j.terminal, ::getpid()); // SIGTTOU is still blocked
  if (j.limit_processes > 0)
    limit(RLIMIT_NPROC, j.limit_processes);
  if (j.limit_data > 0)
    limit(RLIMIT_DATA, j.limit_data);
  limit(RLIMIT_CORE, 0); // a core file is a name made by the kernel
  if (::chdir(j.directory) != 0)
    give_up(wire::stage::directory);
  restore_signals(j);
  close_all_but(report, guard.command_end());
  drop_own_capabilities();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(wire::stage::setup);
  if (!guard.enter())
    give_up(guard.command_end() < 0 ? wire::stage::setup : wire::stage::guard);
  ::execvpe(j.arguments[0], j.arguments.data(), j.environment.data());
  if (errno == EACCES)
    errno = is_there(j.arguments[0]) ? EACCES : ENOENT;
  give_up(wire::stage::exec);
  ::_exit(127);
}

void use_path_of(const job& j) {
  // execvpe looks the program up in this process's PATH.
  for (const char* variable : j.environment)
    if (variable && std::strncmp(variable, "PATH=", 5) == 0)
      ::setenv("PATH", variable + 5, 1);
}

[[noreturn]] void leave(const link& to_broker, int status) {
  // The rest of the sandbox ends before the figures are taken.
  if (::kill(-1, SIGKILL) == 0)
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  sandbox::guard::end_supervisor();
  rusage all{};
  ::getrusage(RUSAGE_CHILDREN, &all);
  const auto us = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000u + static_cast<std::uint64_t>(t.tv_usec);
  };
  wire::header h;
  h.what = wire::message::exited;
  h.a = static_cast<std::uint32_t>(status);
  h.cpu_us = us(all.ru_utime) + us(all.ru_stime);
  h.peak_rss_kib = static_cast<std::uint64_t>(all.ru_maxrss);
  to_broker.send(h);
  ::_exit(0);
}

void reap(const link& to_broker, pid_t command) {
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid != command)
      continue;
    if (!WIFSTOPPED(status))
      leave(to_broker, status);
    if (is_held()) // not the terminal's doing
      continue;
    wire::header h;
    h.what = wire::message::stopped;
    h.a = static_cast<std::uint32_t>(WSTOPSIG(status));
    to_broker.send(h);
  }
}

void obey(const link& to_broker, pid_t command, int terminal) {
  wire::header h;
  int fd = -1;
  if (!to_broker.receive(h, fd))
    ::_exit(0); // the broker is gone, and with this process everything here
  if (fd >= 0)
    ::close(fd);
  switch (h.what) {
    case wire::message::signal:
      if (::kill(-command, static_cast<int>(h.a)) != 0)
        ::kill(command, static_cast<int>(h.a));
      break;
    case wire::message::terminate:
      if (is_held()) { // a question is open: nothing may run meanwhile
        ::kill(-1, SIGKILL);
        break;
      }
      ::kill(-1, SIGTERM);
      ::kill(-1, SIGCONT); // a stopped process acts on it only then
      break;
    case wire::message::resume:
      if (h.a == 1 && terminal >= 0)
        ::tcsetpgrp(terminal, command);
      ::kill(-command, SIGCONT);
      break;
    case wire::message::hold:
      h = {};
      h.what = wire::message::held;
      h.a = hold_everything() ? 1 : 0;
      to_broker.send(h);
      break;
    case wire::message::release:
      release_everything();
      break;
    default:
      break;
  }
}

} // namespace

pid_t start_command(const job& j, const link& to_broker) {
  use_path_of(j);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    to_broker.fail(wire::stage::setup, errno, "make a pipe");
  guarding guard(j, to_broker);
  const pid_t pid = ::fork();
  if (pid < 0)
    to_broker.fail(wire::stage::setup, errno, "start a process");
  if (pid == 0)
    become_command(j, report[1], guard);
  ::close(report[1]);
  guard.serve();
  start_failure f{};
  ssize_t n;
  do
    n = ::read(report[0], &f, sizeof f);
  while (n < 0 && errno == EINTR);
  ::close(report[0]);
  if (n == static_cast<ssize_t>(sizeof f))
    to_broker.fail(f.where, f.error,
                   f.where == wire::stage::exec        ? "run"
                   : f.where == wire::stage::directory ? "enter"
                   : f.where == wire::stage::guard     ? "guard the protected names"
                                                       : "install the system call filter",
                   f.where == wire::stage::exec        ? j.arguments[0]
                   : f.where == wire::stage::directory ? j.directory
                                                       : "");
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  wire::header h;
  h.what = wire::message::started;
  h.started_us = static_cast<std::uint64_t>(now.tv_sec) * 1000000u +
                 static_cast<std::uint64_t>(now.tv_nsec) / 1000u;
  to_broker.send(h);
  return pid;
}

void watch_command(const job& j, const link& to_broker, pid_t command) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int children = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (children < 0)
    to_broker.fail(wire::stage::setup, errno, "watch processes");
  // Inherited output must not stay open here: readers outside wait for its end. A
  // terminal has none to wait for, and its foreground is given back after a stop.
  const int terminal = j.terminal < 0 ? -1 : ::fcntl(j.terminal, F_DUPFD_CLOEXEC, 3);
  ::close_range(0, 2, 0);
  reap(to_broker, command);
  for (;;) {
    pollfd wait[2] = {{children, POLLIN, 0}, {to_broker.fd(), POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR)
      ::_exit(125);
    if (wait[0].revents) {
      signalfd_siginfo ignored;
      while (::read(children, &ignored, sizeof ignored) > 0) {
      }
      reap(to_broker, command);
    }
    if (wait[1].revents)
      obey(to_broker, command, terminal);
  }
}

} // namespace piorch::init
