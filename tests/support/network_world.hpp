// Sandbox, host and outside world for tests of the proxies: three network
// namespaces, a gateway on the host between the first and the last, a name
// server and whatever servers the test puts up outside. The test body plays the
// program inside the sandbox.
#pragma once

#include "sandbox/network/gateway.hpp"
#include "tests/support/name_server.hpp"
#include "tests/support/netns.hpp"
#include "tests/support/peer.hpp"

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
#include <pthread.h>
#include <sys/socket.h>
#include <thread>
#include <time.h>

namespace piorch::test {

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
    for (int i = 0; i < 3000; ++i) {
      if (connections() == 0)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // What the loop's thread has used; the servers' threads are the test's own.
  double loop_cpu_seconds() {
    clockid_t clock{};
    if (::pthread_getcpuclockid(loop.native_handle(), &clock) != 0)
      throw std::runtime_error("no clock of the loop's thread");
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
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
