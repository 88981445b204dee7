// piorch-connect HOST PORT: connects standard input and output to HOST:PORT
// through the HTTP proxy of the sandbox it runs in. For ssh's ProxyCommand and
// for git://. Static and without dependencies, so that it runs in any sandbox.
// Exit status: 0 both ends have closed, 1 no connection (the reason on stderr),
// 2 usage.
#include "config/limits.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr std::size_t head_max = 16384;
constexpr std::size_t block = 65536;

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

int connect_to_proxy() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(piorch::limits::http_proxy_port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) {
    std::fprintf(stderr, "piorch-connect: the sandbox's proxy does not answer: %s\n",
                 std::strerror(errno));
    return -1;
  }
  return fd;
}

// True if the proxy has connected us. Reads byte by byte up to the end of the
// head: what follows belongs to the tunnel.
bool open_tunnel(int fd, const char* host, const char* port) {
  const bool v6 = std::strchr(host, ':') != nullptr && host[0] != '[';
  char head[head_max];
  const char *before = v6 ? "[" : "", *after = v6 ? "]" : "";
  const int n =
      std::snprintf(head, sizeof head, "CONNECT %s%s%s:%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n\r\n",
                    before, host, after, port, before, host, after, port);
  if (n < 0 || n >= static_cast<int>(sizeof head) ||
      !write_all(fd, head, static_cast<std::size_t>(n)))
    return false;
  std::size_t have = 0;
  while (have < 4 || std::memcmp(head + have - 4, "\r\n\r\n", 4) != 0) {
    const ssize_t got = have == sizeof head ? 0 : ::read(fd, head + have, 1);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      std::fputs("piorch-connect: the sandbox's proxy ended the connection\n", stderr);
      return false;
    }
    have += static_cast<std::size_t>(got);
  }
  if (have > 12 && std::memcmp(head, "HTTP/1.", 7) == 0 && std::memcmp(head + 8, " 200", 4) == 0)
    return true;
  for (ssize_t got = 1; got > 0;) { // the reason, for people and models
    got = ::read(fd, head, sizeof head);
    if (got > 0)
      (void)write_all(STDERR_FILENO, head, static_cast<std::size_t>(got));
  }
  return false;
}

// Copies one block; false at the end of `from` or when `to` is gone.
bool copy(int from, int to) {
  static char data[block];
  const ssize_t n = ::read(from, data, sizeof data);
  if (n < 0)
    return errno == EINTR || errno == EAGAIN;
  return n > 0 && write_all(to, data, static_cast<std::size_t>(n));
}

void relay(int fd) {
  pollfd ends[2] = {{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}};
  while (ends[1].fd >= 0) { // when the server has ended nobody reads what is typed
    if (::poll(ends, 2, -1) < 0 && errno != EINTR)
      return;
    if (ends[1].revents != 0 && !copy(fd, STDOUT_FILENO))
      return;
    if (ends[0].revents != 0 && !copy(STDIN_FILENO, fd)) {
      ::shutdown(fd, SHUT_WR);
      ends[0].fd = -1;
      ends[0].revents = 0;
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: piorch-connect HOST PORT\n", stderr);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const int fd = connect_to_proxy();
  if (fd < 0 || !open_tunnel(fd, argv[1], argv[2]))
    return 1;
  relay(fd);
  return 0;
}
