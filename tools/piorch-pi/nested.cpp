#include "tools/piorch-pi/nested.hpp"

#include "config/network_limits.hpp"
#include "config/text.hpp"
#include "ipc/unique_fd.hpp"
#include "tools/piorch-pi/real_pi.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::pi {

namespace {

constexpr int answer_limit_ms = 10'000;
constexpr std::size_t answer_bytes = 2048;

error not_let_in(const std::string& why) {
  return {failure::limit_reached, "this worker may not start another one: " + why};
}

// The connection, once the broker has said yes.
result<ipc::unique_fd> knock(const std::string& agent) {
  ipc::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in door{};
  door.sin_family = AF_INET;
  door.sin_port = htons(limits::nested_workers_port);
  door.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string name = config::printable(agent, 160) + "\n";
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&door), sizeof door) != 0 ||
      ::send(fd.get(), name.data(), name.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(name.size()))
    return not_let_in(std::string("the broker cannot be reached: ") + std::strerror(errno));
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    pollfd p{fd.get(), POLLIN, 0};
    char block[512];
    if (::poll(&p, 1, answer_limit_ms) <= 0)
      return not_let_in("the broker does not answer");
    const ssize_t n = ::recv(fd.get(), block, sizeof block, 0);
    if (n <= 0 || answer.size() > answer_bytes)
      return not_let_in("there are too many");
    answer.append(block, static_cast<std::size_t>(n));
  }
  if (answer != "yes\n")
    return not_let_in(answer.substr(std::min<std::size_t>(3, answer.size())));
  return fd;
}

// Until the child has ended; what this process is told, it is told.
int pass_signals_to(pid_t child) {
  sigset_t every;
  sigfillset(&every);
  for (;;) {
    siginfo_t info{};
    const int number = ::sigwaitinfo(&every, &info);
    if (number == SIGCHLD) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child)
        return status;
    } else if (number > 0)
      ::kill(child, number);
  }
}

} // namespace

error run_nested(const std::vector<std::string>& real, const std::vector<std::string>& arguments,
                 const std::string& agent, const sandbox::caller_signals& caller) {
  const auto seat = knock(agent); // kept until this process ends
  if (!seat)
    return seat.failed();
  const pid_t self = ::getpid();
  const pid_t child = ::fork(); // one thread, nothing is held: everything may be done after it
  if (child < 0)
    return {failure::fault, std::string("cannot start Pi: ") + std::strerror(errno)};
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != self)
      ::_exit(1);
    ::sigprocmask(SIG_SETMASK, &caller.mask, nullptr);
    const error why = become(real, arguments);
    ::dprintf(STDERR_FILENO, "piorch-pi: %s\n", config::printable(why.text).c_str());
    ::_exit(1);
  }
  const int status = pass_signals_to(child);
  sandbox::leave_like(WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                      WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

} // namespace piorch::pi
