// The other ends of connections in tests and benchmarks: blocking sockets and a
// server with a thread per connection.
#pragma once

#include "ipc/unique_fd.hpp"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <vector>

namespace piorch::test {

// A blocking socket of the test; every wait ends after half a minute.
class peer {
public:
  explicit peer(ipc::unique_fd fd) : fd_(std::move(fd)) {
    const timeval limit{30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  void shut_write() { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Up to n bytes at once; "" at the end, or when the connection broke.
  std::string some(std::size_t n = 65536) {
    std::string out(n, '\0');
    const auto got = ::recv(fd_.get(), out.data(), n, 0);
    last_error_ = got < 0 ? errno : 0;
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  std::string exactly(std::size_t n) {
    std::string out;
    while (out.size() < n) {
      auto piece = some(n - out.size());
      if (piece.empty())
        break;
      out += piece;
    }
    return out;
  }
  std::string all() {
    std::string out;
    for (;;) {
      auto piece = some();
      if (piece.empty())
        return out;
      out += piece;
    }
  }
  // Through the end of an HTTP head, byte by byte so that nothing more is taken.
  std::string head() {
    std::string out;
    while (out.size() < 4 || out.compare(out.size() - 4, 4, "\r\n\r\n") != 0) {
      auto piece = some(1);
      if (piece.empty())
        break;
      out += piece;
    }
    return out;
  }
  int last_error() const { return last_error_; } // ECONNRESET, EAGAIN (time-out), or 0

private:
  ipc::unique_fd fd_;
  int last_error_ = 0;
};

inline sockaddr_storage socket_address(const std::string& ip, std::uint16_t port, socklen_t& size) {
  sockaddr_storage out{};
  if (ip.find(':') == std::string::npos) {
    auto& a = reinterpret_cast<sockaddr_in&>(out);
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    ::inet_pton(AF_INET, ip.c_str(), &a.sin_addr);
    size = sizeof a;
  } else {
    auto& a = reinterpret_cast<sockaddr_in6&>(out);
    a.sin6_family = AF_INET6;
    a.sin6_port = htons(port);
    ::inet_pton(AF_INET6, ip.c_str(), &a.sin6_addr);
    size = sizeof a;
  }
  return out;
}

inline ipc::unique_fd listen_on(const std::string& ip, std::uint16_t port) {
  socklen_t size = 0;
  const auto address = socket_address(ip, port, size);
  ipc::unique_fd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), 4096) != 0)
    throw std::runtime_error("listen on " + ip);
  return fd;
}

inline peer connect_to(const std::string& ip, std::uint16_t port) {
  socklen_t size = 0;
  const auto address = socket_address(ip, port, size);
  ipc::unique_fd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    throw std::runtime_error("connect to " + ip);
  return peer(std::move(fd));
}

// A server with a thread per connection.
class server {
public:
  server(ipc::unique_fd listener, std::function<void(peer&)> serve)
      : listener_(std::move(listener)), serve_(std::move(serve)), thread_([this] { run(); }) {}
  ~server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (auto& t : connections_)
      t.join();
  }
  int accepted() const { return accepted_; }

private:
  void run() {
    for (;;) {
      ipc::unique_fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd)
        return;
      ++accepted_;
      connections_.emplace_back([this, p = std::make_shared<peer>(std::move(fd))] { serve_(*p); });
    }
  }
  ipc::unique_fd listener_;
  std::function<void(peer&)> serve_;
  std::vector<std::thread> connections_;
  std::atomic<int> accepted_{0};
  std::thread thread_;
};

} // namespace piorch::test
