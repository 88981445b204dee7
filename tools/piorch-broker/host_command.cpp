#include "tools/piorch-broker/host_command.hpp"

#include "sandbox/environment.hpp"
#include "sandbox/files.hpp"
#include "sandbox/spawn.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace piorch::broker {

namespace {

using sandbox::run;

constexpr const char* addresses[] = {"SSH_AUTH_SOCK",
                                     "SSH_AGENT_PID",
                                     "GPG_AGENT_INFO",
                                     "DBUS_SESSION_BUS_ADDRESS",
                                     "XDG_RUNTIME_DIR",
                                     "DISPLAY",
                                     "WAYLAND_DISPLAY",
                                     "XAUTHORITY",
                                     "DOCKER_HOST",
                                     "CONTAINER_HOST",
                                     "TMUX",
                                     "TMUX_TMPDIR"};

// What sandboxed commands could write: the directory, and the Git work tree around it, of a
// submodule the outermost one. Not a home that is itself in Git.
std::string writable_around(const std::string& directory, const std::string& home) {
  std::string out = directory;
  for (std::string up = directory; up != "/" && up != home; up = sandbox::parent_of(up))
    if (sandbox::exists(sandbox::join(up, ".git")))
      out = up;
  return out;
}

// Whoever can write the workspace could put programs there.
std::string outside(std::string_view path, const std::string& workspace) {
  std::string out;
  while (!path.empty()) {
    const std::string entry(path.substr(0, path.find(':')));
    path.remove_prefix(std::min(path.size(), entry.size() + 1));
    const auto real = entry.empty() || entry[0] != '/' ? std::nullopt : sandbox::canonical(entry);
    if (real && !sandbox::is_within(*real, workspace))
      out += (out.empty() ? "" : ":") + entry;
  }
  return out;
}

std::string in_hex(std::uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(n));
  return text;
}

// In the child, before it becomes the command.
void take_terminal() {
  ::setpgid(0, 0);
  for (int fd = 0; fd <= 2; ++fd)
    if (::tcsetpgrp(fd, ::getpgrp()) == 0) // all signals are blocked
      return;
}

void set_signals(std::uint64_t mask, std::uint64_t ignored) {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (int n = 1; n <= 64; ++n) {
    if ((mask >> (n - 1)) & 1)
      sigaddset(&blocked, n);
    if ((ignored >> (n - 1)) & 1)
      ::signal(n, SIG_IGN);
  }
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

int watch(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

} // namespace

std::vector<std::string> host_environment(const sandbox::remote_job& job,
                                          const std::vector<std::string>& own) {
  sandbox::environment out(job.environment);
  const sandbox::environment ours(own);
  const auto entries = out.entries();
  for (const std::string& entry : entries)
    if (const std::string name = entry.substr(0, entry.find('='));
        name == "BASH_ENV" || name == "ENV" || name.rfind("LD_", 0) == 0)
      out.unset(name);
  for (const char* name : addresses)
    if (const auto value = ours.value(name); !value.empty())
      out.set_default(name, value);
  const auto directory = sandbox::canonical(job.directory).value_or(job.directory);
  const auto home = sandbox::canonical(std::string(ours.value("HOME"))).value_or("/");
  const auto path = outside(out.value("PATH"), writable_around(directory, home));
  out.set("PATH", path.empty() ? "/usr/bin:/bin" : path);
  return out.entries();
}

host_command::host_command(boost::asio::io_context& io,
                           std::function<void(const sandbox::outcome&)> ended)
    : ended_(std::move(ended)), handle_(io), time_limit_(io), grace_(io) {}

host_command::~host_command() {
  if (pid_ > 0)
    ::kill(-pid_, SIGKILL);
}

result<done> host_command::start(const sandbox::remote_job& job, const std::array<int, 3>& stdio,
                                 const terminal_job* on_terminal) {
  if (on_terminal)
    job_ = *on_terminal;
  sandbox::spawn_request child;
  child.program = "/proc/self/exe";
  const std::string self = std::to_string(::getpid());
  child.arguments = {"piorch-broker",
                     "run",
                     self,
                     on_terminal ? in_hex(job_.signal_mask) : std::string("-"),
                     on_terminal ? in_hex(job_.ignored_signals) : std::string("-"),
                     job.directory};
  child.arguments.insert(child.arguments.end(), job.arguments.begin(), job.arguments.end());
  child.environment = host_environment(job, sandbox::environment::of_this_process().entries());
  child.fds = {stdio[0], stdio[1], stdio[2]};
  child.new_session = !on_terminal;
  if (on_terminal)
    sigfillset(&child.blocked);
  auto pid = sandbox::spawn(child);
  if (!pid)
    return std::move(pid).failed();
  pid_ = *pid;
  if (on_terminal)
    ::setpgid(pid_, pid_); // whoever is first
  start_guard(self);
  const int handle = watch(pid_);
  if (handle < 0)
    return error{failure::fault, std::string("cannot watch the command: ") + std::strerror(errno)};
  handle_.assign(handle);
  handle_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [this](boost::system::error_code ec) {
                       if (!ec)
                         gone();
                     });
  if (job.time_limit.count() > 0) {
    time_limit_.expires_after(job.time_limit);
    time_limit_.async_wait([this](boost::system::error_code ec) {
      if (!ec)
        end(sandbox::end_reason::timeout);
    });
  }
  run_.on_started();
  return done{};
}

// The command itself gets a signal when this process dies, and what it has started does not.
void host_command::start_guard(const std::string& self) {
  sandbox::spawn_request guard;
  guard.program = "/proc/self/exe";
  guard.arguments = {"piorch-broker", "guard", self, std::to_string(pid_)};
  guard.fds = {-1, -1, -1};
  guard.new_session = true;
  sigfillset(&guard.blocked);
  if (auto pid = sandbox::spawn(guard))
    guard_ = *pid;
}

void host_command::child_changed() {
  siginfo_t what{};
  if (pid_ > 0 && job_.stopped &&
      ::waitid(P_PID, static_cast<id_t>(pid_), &what, WSTOPPED | WNOHANG) == 0 && what.si_pid > 0)
    job_.stopped();
}

void host_command::resume(bool in_foreground) {
  if (in_foreground)
    ::tcsetpgrp(job_.terminal, pid_); // SIGTTOU is blocked
  deliver(SIGCONT);
}

void host_command::end(sandbox::end_reason why) { take(run_.on_end(why)); }

void host_command::deliver(int signal) {
  if (pid_ > 0)
    ::kill(-pid_, signal);
}

void host_command::take(run::step what) {
  if (what == run::step::kill)
    return deliver(SIGKILL);
  if (what != run::step::terminate)
    return;
  deliver(SIGTERM);
  deliver(SIGCONT); // it may be stopped
  grace_.expires_after(run::grace);
  grace_.async_wait([this](boost::system::error_code ec) {
    if (!ec)
      take(run_.on_grace_over());
  });
}

// Until the leader is reaped its number belongs to it, and to its group.
void host_command::gone() {
  deliver(SIGKILL);
  if (guard_ > 0) {
    ::kill(guard_, SIGKILL);
    ::waitpid(std::exchange(guard_, -1), nullptr, 0);
  }
  int status = 0;
  rusage used{};
  ::wait4(std::exchange(pid_, -1), &status, 0, &used);
  time_limit_.cancel();
  grace_.cancel();
  const auto us = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  run_.on_exited(status, us(used.ru_utime) + us(used.ru_stime),
                 static_cast<std::uint64_t>(used.ru_maxrss));
  run_.on_gone({});
  ended_(run_.result());
}

void become_host_command(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 7 || ::getppid() != std::atoi(argv[2]))
    ::_exit(125);
  if (std::strcmp(argv[3], "-") != 0) {
    take_terminal();
    set_signals(std::strtoull(argv[3], nullptr, 16), std::strtoull(argv[4], nullptr, 16));
  }
  int status = 126;
  if (::chdir(argv[5]) != 0)
    std::fprintf(stderr, "piorch: cannot change to %s: %s\n", argv[5], std::strerror(errno));
  else {
    ::execvp(argv[6], argv + 6);
    status = errno == ENOENT ? 127 : 126;
    std::fprintf(stderr, "piorch: cannot run %s: %s\n", argv[6], std::strerror(errno));
  }
  std::fflush(stderr);
  ::_exit(status);
}

void become_group_guard(int argc, char** argv) {
  const pid_t parent = argc == 4 ? std::atoi(argv[2]) : 0,
              group = argc == 4 ? std::atoi(argv[3]) : 0;
  if (parent <= 1 || group <= 1)
    ::_exit(125);
  pollfd end{watch(parent), POLLIN, 0};
  if (::getppid() == parent) // or it is gone already
    while (end.fd >= 0 && ::poll(&end, 1, -1) < 0) {
    }
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

} // namespace piorch::broker
