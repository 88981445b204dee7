#include "ipc/worker_lease.hpp"

#include "config/text.hpp"
#include "ipc/instance.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace piorch::ipc {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t reply_bytes = 1u << 20; // a policy has as many patterns as the user wrote

error unreachable(const std::string& path, const std::string& why) {
  return {failure::unreachable, "the supervisor at " + config::printable(path, 300) +
                                    " cannot be reached: " + why +
                                    "; workers run only while their Pi session does"};
}

bool wait_for(int fd, short events, clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now());
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (n > 0 || (n == 0 && left.count() <= 0))
      return n > 0;
    if (n < 0 && errno != EINTR)
      return false;
  }
}

result<unique_fd> connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.size() >= sizeof address.sun_path)
    return unreachable(path, "not an absolute path that fits a socket address");
  path.copy(address.sun_path, path.size());
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return unreachable(path, std::strerror(errno));
  if (auto ours = check_peer(fd.get()); !ours)
    return unreachable(path, ours.failed().text);
  return fd;
}

} // namespace

result<worker_lease> register_worker(const std::string& path, const worker_frame& frame,
                                     std::chrono::milliseconds limit) {
  const auto until = clock::now() + limit;
  auto socket = connect(path);
  if (!socket)
    return std::move(socket).failed();
  const std::string line = write(frame) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = ::send(socket->get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n > 0)
      sent += static_cast<std::size_t>(n);
    else if (errno != EAGAIN && errno != EINTR)
      return unreachable(path, std::strerror(errno));
    else if (!wait_for(socket->get(), POLLOUT, until))
      return unreachable(path, "it takes nothing");
  }
  // Byte by byte, so that nothing of what follows is taken.
  std::string reply;
  while (reply.empty() || reply.back() != '\n') {
    char c = 0;
    if (!wait_for(socket->get(), POLLIN, until))
      return unreachable(path, "it does not answer");
    const ssize_t n = ::read(socket->get(), &c, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (n <= 0 || reply.size() >= reply_bytes)
      return unreachable(path, n == 0 ? "it closed the connection" : "its answer is too long");
    reply += c;
  }
  reply.pop_back();
  auto granted = read_worker_reply(reply);
  if (!granted)
    return std::move(granted).failed();
  if (!granted->allow || granted->id != frame.id)
    return error{failure::session_failed,
                 "the supervisor refused the registration" +
                     (granted->reason.empty() ? std::string() : ": " + granted->reason)};
  return worker_lease{std::move(*socket), std::move(*granted)};
}

} // namespace piorch::ipc
