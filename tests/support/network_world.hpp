// Sandbox, host and outside world for tests of the proxies: three network
// namespaces, a gateway on the host between the first and the last, a name
// server and whatever servers the test puts up outside. The test body plays the
// program inside the sandbox.
#pragma once

#include "sandbox/network/gateway.hpp"
#include "tests/support/name_server.hpp"
#include "tests/support/netns.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace piorch::test {

// A blocking socket of the test; every wait ends after ten seconds.
class peer {
public:
  explicit peer(ipc::unique_fd fd) : fd_(std::move(fd)) {
    const timeval limit{10, 0};
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

namespace net = piorch::sandbox::network;

class network_world : public ::testing::Test {
public:
  static constexpr const char* host_address = "192.0.2.1";
  static constexpr const char* web = "192.0.2.80"; // and 2001:db8::80

  void SetUp() override {
    if (!netns::become_root()) {
      if (std::getenv("PIORCH_MUST_WORK"))
        FAIL() << "no user namespace here";
      GTEST_SKIP() << "no user namespace here";
    }
    inside = std::make_unique<netns>();
    host = std::make_unique<netns>();
    outside = std::make_unique<netns>();
    host->connect("host0", *outside, "out0");
    host->ip("addr add 192.0.2.1/24 dev host0");
    host->ip("addr add 2001:db8::1/64 dev host0 nodad");
    host->ip("route add default via 192.0.2.254");
    host->ip("-6 route add default via 2001:db8::254");
    for (auto a : {"192.0.2.254/24", "192.0.2.53/24", "192.0.2.80/24", "10.1.2.3/32",
                   "198.51.100.7/32", "169.254.169.254/32"})
      outside->ip("addr add " + std::string(a) + " dev out0");
    for (auto a : {"2001:db8::254/64", "2001:db8::80/64", "fd00::80/128"})
      outside->ip("addr add " + std::string(a) + " dev out0 nodad");

    char name[] = "/tmp/piorch-test-XXXXXX";
    directory = ::mkdtemp(name);
    std::ofstream(directory + "/resolv.conf") << "nameserver 192.0.2.53\noptions timeout:1\n";
    std::ofstream(directory + "/hosts") << "127.0.0.1 mapped.example.org\n";
    dns = outside->in([&] { return std::make_unique<name_server>(io, "192.0.2.53"); });
    host->enter(); // the loop's thread starts here and dials from here
    work = std::make_unique<guard>(io.get_executor());
    loop = std::thread([this] { io.run(); });
    inside->enter();
  }

  void TearDown() override {
    if (!loop.joinable())
      return;
    on_loop([&] { gateway.reset(); });
    servers.clear();
    work.reset();
    io.stop();
    loop.join();
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  // Starts the gateway with these patterns; `options` may be changed before.
  void start(std::vector<std::string> allowed, std::vector<std::string> denied = {}) {
    net::rule_list allow{{}, "network.allowedDomains"}, deny{{}, "network.deniedDomains"};
    for (auto& p : allowed)
      allow.patterns.push_back(*config::parse_pattern(p, config::domain_list::allowed));
    for (auto& p : denied)
      deny.patterns.push_back(*config::parse_pattern(p, config::domain_list::denied));
    options.rules.allowed = {allow};
    options.rules.denied = {deny};
    options.names.resolv_conf = directory + "/resolv.conf";
    options.names.hosts = directory + "/hosts";
    auto http = listen_on("127.0.0.1", 41080);
    auto socks = listen_on("127.0.0.1", 41081);
    on_loop([&] {
      gateway = std::make_unique<net::gateway>(io, options, events);
      ASSERT_TRUE(gateway->listen_http(std::move(http)));
      ASSERT_TRUE(gateway->listen_socks(std::move(socks)));
    });
  }

  template <class Fn> void on_loop(Fn fn) {
    std::promise<void> ran;
    boost::asio::post(io, [&] {
      fn();
      ran.set_value();
    });
    ran.get_future().wait();
  }

  void serve(const std::string& ip, std::uint16_t port, std::function<void(peer&)> fn) {
    auto listener = outside->in([&] { return listen_on(ip, port); });
    servers.push_back(std::make_unique<server>(std::move(listener), std::move(fn)));
  }

  peer http() { return connect_to("127.0.0.1", 41080); }
  peer socks() { return connect_to("127.0.0.1", 41081); }

  // The answer to CONNECT, head and (of a refusal) body.
  std::string connect_answer(peer& p, const std::string& target) {
    p.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
    auto out = p.head();
    if (out.compare(0, 12, "HTTP/1.1 200") != 0)
      out += p.all();
    return out;
  }
  std::string connect_answer(const std::string& target) {
    auto p = http();
    return connect_answer(p, target);
  }
  bool tunnel(peer& p, const std::string& target) {
    return connect_answer(p, target).compare(0, 12, "HTTP/1.1 200") == 0;
  }
  // The reply code of a SOCKS5 CONNECT by name, -1 if there is none.
  int socks_code(peer& p, const std::string& name, std::uint16_t port) {
    std::string request = std::string("\x05\x01\x00\x05\x01\x00\x03", 7);
    request += static_cast<char>(name.size());
    request += name;
    request += static_cast<char>(port >> 8);
    request += static_cast<char>(port & 0xff);
    p.send(request);
    const auto reply = p.exactly(12);
    return reply.size() == 12 ? static_cast<unsigned char>(reply[3]) : -1;
  }

  std::vector<net::network_event> report() {
    std::vector<net::network_event> out;
    on_loop([&] { out = gateway->report().events(); });
    return out;
  }
  std::size_t connections() {
    std::size_t n = 0;
    on_loop([&] { n = gateway->connections(); });
    return n;
  }
  // The gateway learns of a closed client a moment later.
  bool becomes_idle() {
    for (int i = 0; i < 500; ++i) {
      if (connections() == 0)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::unique_ptr<netns> inside, host, outside;
  boost::asio::io_context io{1};
  std::unique_ptr<name_server> dns;
  net::gateway_options options;
  net::gateway_events events;
  std::unique_ptr<net::gateway> gateway;
  std::vector<std::unique_ptr<server>> servers;
  std::string directory;

private:
  using guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  std::unique_ptr<guard> work;
  std::thread loop;
};

} // namespace piorch::test
