// What the proxies cost: direct through loopback, CONNECT and SOCKS through a
// gateway, side by side. The gateway runs in a process of its own, as in a broker,
// between two network namespaces of this benchmark; the server stands behind a veth
// pair. Needs root or user namespaces, and iproute2.
#include "sandbox/network/gateway.hpp"
#include "tests/support/name_server.hpp"
#include "tests/support/netns.hpp"
#include "tests/support/peer.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace {

using namespace piorch;
using namespace piorch::test;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t gib = 1u << 30;
constexpr std::uint16_t bulk_port = 9000, short_port = 9001, hold_port = 9002;

double seconds_since(clock_type::time_point t) {
  return std::chrono::duration<double>(clock_type::now() - t).count();
}

// Serves until its parent ends. `ip` is told to bind to.
void serve(const std::string& ip) {
  server bulk(listen_on(ip, bulk_port), [](peer& p) {
    const std::string block(1 << 20, 'x');
    for (std::size_t n = 0; n < gib && p.send(block); n += block.size()) {
    }
  });
  server hold(listen_on(ip, hold_port), [](peer& p) { p.all(); });
  const auto short_ones = listen_on(ip, short_port);
  for (;;) { // one byte each; no threads, they would be what is measured
    peer p(ipc::unique_fd(::accept4(short_ones.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    p.send("x");
  }
}

template <class Fn> pid_t process(const netns& where, Fn fn) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    where.enter();
    fn();
    ::_exit(0);
  }
  return child;
}

double cpu_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  double ticks = 0;
  for (int i = 1; i <= 15 && in >> word; ++i)
    if (i >= 14)
      ticks += std::stod(word);
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

long rss_kib(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, 6, "VmRSS:") == 0)
      return std::stol(line.substr(6));
  return 0;
}

enum class way { direct, connect, socks };

peer open(way w, std::uint16_t port) {
  if (w == way::direct)
    return connect_to("127.0.0.1", port);
  if (w == way::connect) {
    auto p = connect_to("127.0.0.1", 41080);
    const int on = 1;
    ::setsockopt(p.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto to = "www.example.org:" + std::to_string(port);
    p.send("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n");
    std::string head; // 39 bytes of "HTTP/1.1 200 Connection established"
    if ((head = p.exactly(39)).compare(9, 3, "200") != 0)
      throw std::runtime_error("refused: " + head + p.all());
    return p;
  }
  auto p = connect_to("127.0.0.1", 41081);
  const int on = 1;
  ::setsockopt(p.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  p.send(std::string("\x05\x01\x00\x05\x01\x00\x03\x0fwww.example.org", 23) +
         static_cast<char>(port >> 8) + static_cast<char>(port & 0xff));
  if (p.exactly(12).substr(3, 1) != std::string(1, '\0'))
    throw std::runtime_error("refused by SOCKS");
  return p;
}

double throughput(way w) { // MiB/s
  auto p = open(w, bulk_port);
  std::string block(1 << 20, '\0');
  const auto begun = clock_type::now();
  std::size_t got = 0;
  for (ssize_t n; (n = ::recv(p.fd(), block.data(), block.size(), 0)) > 0;)
    got += static_cast<std::size_t>(n);
  if (got != gib)
    throw std::runtime_error("short transfer");
  return 1024 / seconds_since(begun);
}

double connections_per_second(way w) {
  std::atomic<int> done{0};
  const auto begun = clock_type::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      while (seconds_since(begun) < 2) {
        auto p = open(w, short_port);
        p.exactly(1);
        p.reset(); // no TIME_WAIT: 2 s would use up the ports
        ++done;
      }
    });
  for (auto& t : threads)
    t.join();
  return done / seconds_since(begun);
}

double first_byte_ms(way w) {
  std::vector<double> all;
  for (int i = 0; i < 500; ++i) {
    const auto begun = clock_type::now();
    auto p = open(w, short_port);
    p.exactly(1);
    all.push_back(seconds_since(begun) * 1000);
    p.reset();
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

} // namespace

int main() {
  if (!netns::become_root()) {
    std::fputs("network_bench: no user namespaces here\n", stderr);
    return 1;
  }
  sandbox::network::raise_descriptor_limit();
  netns inside, host, outside;
  host.connect("host0", outside, "out0");
  host.ip("addr add 192.0.2.1/24 dev host0");
  outside.ip("addr add 192.0.2.80/24 dev out0");
  outside.ip("addr add 192.0.2.53/24 dev out0");

  // Forks first: no thread may exist yet.
  process(outside, [] { serve("192.0.2.80"); });
  process(inside, [] { serve("127.0.0.1"); }); // the direct path
  process(outside, [] {
    boost::asio::io_context io{1};
    name_server dns(io, "192.0.2.53");
    dns.set("www.example.org", {{"192.0.2.80"}}, 60);
    io.run();
  });
  inside.enter();
  auto http = listen_on("127.0.0.1", 41080), socks = listen_on("127.0.0.1", 41081);
  char name[] = "/tmp/piorch-bench-XXXXXX";
  const std::string resolv_conf = std::string(::mkdtemp(name)) + "/resolv.conf";
  std::ofstream(resolv_conf) << "nameserver 192.0.2.53\n";
  const pid_t gateway = process(host, [&] {
    boost::asio::io_context io{1};
    sandbox::network::gateway_options options;
    options.names.resolv_conf = resolv_conf;
    options.rules.allowed = {
        {{*config::parse_pattern("www.example.org", config::domain_list::allowed)}, "bench"}};
    sandbox::network::gateway g(io, options, {});
    if (g.listen_http(std::move(http)) && g.listen_socks(std::move(socks)))
      io.run();
  });
  ::sleep(1); // the servers are up

  std::printf("%-8s %12s %12s %14s %14s\n", "way", "MiB/s", "CPU s/GiB", "connections/s",
              "first byte ms");
  for (const auto& [w, label] :
       {std::pair{way::direct, "direct"}, {way::connect, "CONNECT"}, {way::socks, "SOCKS5"}}) {
    std::vector<double> rates;
    const double before = cpu_of(gateway);
    for (int i = 0; i < 3; ++i)
      rates.push_back(throughput(w));
    std::sort(rates.begin(), rates.end());
    const double cpu = (cpu_of(gateway) - before) / 3;
    const double rate = connections_per_second(w), first = first_byte_ms(w);
    std::printf("%-8s %12.0f %12.2f %14.0f %14.3f\n", label, rates[1], cpu, rate, first);
    std::fflush(stdout);
  }
  const long empty = rss_kib(gateway);
  std::vector<peer> idle;
  for (int i = 0; i < 1000; ++i)
    idle.push_back(open(way::connect, hold_port));
  std::printf("memory per idle connection: %.1f KiB\n",
              static_cast<double>(rss_kib(gateway) - empty) / 1000);
  std::fflush(stdout);
  ::unlink(resolv_conf.c_str());
  ::rmdir(name);
  ::signal(SIGTERM, SIG_IGN);
  ::_exit(0); // the children follow
}
