// What the proxies cost: direct connections, CONNECT and SOCKS through a gateway, and
// srt's proxies, in turns.
//   network_bench [ROUNDS] [SRT]   SRT: the path of srt's executable, if there is one
// The gateway runs in a process of its own, as in a broker, between two network namespaces
// of this benchmark. The server of the proxies stands behind a veth pair (the policy lets nobody
// dial an address of the host); that of the local ports on the host's loopback, so that their
// relay, which is that of the proxies, has loopback on both sides like the direct way.
// Needs root or user namespaces, and iproute2.
#include "sandbox/network/gateway.hpp"
#include "tests/support/name_server.hpp"
#include "tests/support/netns.hpp"
#include "tests/support/peer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/detail/base64.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace {

using namespace piorch;
using namespace piorch::test;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t gib = 1u << 30;
constexpr std::uint16_t bulk_port = 9000, short_port = 9001, hold_port = 9002;
constexpr std::uint16_t local_ports = 100; // what is added inside to tell them from a direct one

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

void no_delay(peer& p) {
  const int on = 1;
  ::setsockopt(p.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string base64(const std::string& in) {
  std::string out(boost::beast::detail::base64::encoded_size(in.size()), '\0');
  out.resize(boost::beast::detail::base64::encode(out.data(), in.data(), in.size()));
  return out;
}

// `login` is for srt, whose proxy wants one.
peer through_connect(std::uint16_t proxy, std::uint16_t port, const std::string& login = {}) {
  auto p = connect_to("127.0.0.1", proxy);
  no_delay(p);
  const auto to = "www.example.org:" + std::to_string(port);
  p.send("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n" +
         (login.empty() ? "" : "Proxy-Authorization: Basic " + base64(login) + "\r\n") + "\r\n");
  char head[1024];
  std::size_t end = 0;
  for (ssize_t n = 0; end == 0;) { // the server's first bytes may follow at once: only looked at
    n = ::recv(p.fd(), head, sizeof head, MSG_PEEK);
    if (n <= 0)
      throw std::runtime_error("no answer to CONNECT");
    const auto found = std::string_view(head, static_cast<std::size_t>(n)).find("\r\n\r\n");
    end = found == std::string_view::npos ? 0 : found + 4;
  }
  const auto answer = p.exactly(end);
  if (answer.compare(9, 3, "200") != 0)
    throw std::runtime_error("refused: " + answer);
  return p;
}

peer through_socks(std::uint16_t port) {
  auto p = connect_to("127.0.0.1", 41081);
  no_delay(p);
  p.send(std::string("\x05\x01\x00\x05\x01\x00\x03\x0fwww.example.org", 23) +
         static_cast<char>(port >> 8) + static_cast<char>(port & 0xff));
  if (p.exactly(12).substr(3, 1) != std::string(1, '\0'))
    throw std::runtime_error("refused by SOCKS");
  return p;
}

// What any relay between two sockets can reach at most: no proxy, no policy, one
// connection at a time, bytes that never leave the kernel.
void bare_splice(const ipc::unique_fd& listener) {
  constexpr std::size_t chunk = 256u << 10;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0 || ::fcntl(ends[0], F_SETPIPE_SZ, chunk) < 0)
    ::_exit(1);
  for (;;) {
    peer client(ipc::unique_fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    peer server = connect_to("192.0.2.80", bulk_port);
    for (ssize_t in; (in = ::splice(server.fd(), nullptr, ends[1], nullptr, chunk, 0)) > 0;)
      for (ssize_t out; in > 0; in -= out)
        if ((out = ::splice(ends[0], nullptr, client.fd(), nullptr, static_cast<std::size_t>(in),
                            0)) <= 0)
          ::_exit(1);
  }
}

using opener = std::function<peer(std::uint16_t port)>;

double throughput(const opener& open) { // MiB/s
  auto p = open(bulk_port);
  std::string block(1 << 20, '\0');
  const auto begun = clock_type::now();
  std::size_t got = 0;
  for (ssize_t n; (n = ::recv(p.fd(), block.data(), block.size(), 0)) > 0;)
    got += static_cast<std::size_t>(n);
  if (got != gib)
    throw std::runtime_error("short transfer");
  return 1024 / seconds_since(begun);
}

double connections_per_second(const opener& open) {
  std::atomic<int> done{0};
  const auto begun = clock_type::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      while (seconds_since(begun) < 1) {
        auto p = open(short_port);
        p.exactly(1);
        p.reset(); // no TIME_WAIT: two seconds would use up the ports
        ++done;
      }
    });
  for (auto& t : threads)
    t.join();
  return done / seconds_since(begun);
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

double first_byte_ms(const opener& open) {
  std::vector<double> all;
  for (int i = 0; i < 200; ++i) {
    const auto begun = clock_type::now();
    auto p = open(short_port);
    p.exactly(1);
    all.push_back(seconds_since(begun) * 1000);
    p.reset();
  }
  return median(all);
}

struct figures {
  double rate = 0, connections = 0, first = 0, cpu = 0;
};

void measure_rate(const opener& open, pid_t gateway, figures& out) {
  const double before = gateway > 0 ? cpu_of(gateway) : 0;
  out.rate = throughput(open);
  if (gateway > 0)
    out.cpu = cpu_of(gateway) - before;
}

void measure_connections(const opener& open, figures& out) {
  out.connections = connections_per_second(open);
  out.first = first_byte_ms(open);
}

// Inside srt: HTTP_PROXY is http://USER:PASSWORD@localhost:PORT, USER percent-encoded.
int client_in_srt() {
  const std::string proxy = std::getenv("HTTP_PROXY");
  const auto begin = proxy.find("//") + 2, at = proxy.find('@');
  std::string login;
  for (std::size_t i = begin; i < at; ++i)
    if (proxy[i] == '%') {
      login += static_cast<char>(std::stoi(proxy.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      login += proxy[i];
    }
  const auto port = static_cast<std::uint16_t>(std::stoi(proxy.substr(proxy.rfind(':') + 1)));
  const auto open = [&](std::uint16_t to) { return through_connect(port, to, login); };
  figures f;
  measure_rate(open, 0, f);
  measure_connections(open, f);
  std::printf("%f %f %f\n", f.rate, f.connections, f.first);
  return 0;
}

// One round through srt in the network namespace `host`, whose names resolv.conf knows.
figures round_in_srt(const char* srt, const netns& host, const std::string& dir) {
  const pid_t child = process(host, [&] {
    // Its proxy asks the system's resolver.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount((dir + "/resolv.conf").c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) != 0)
      ::_exit(1);
    const auto out = ::open((dir + "/figures").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, 1);
    const std::string settings = dir + "/srt.json";
    const auto self = std::filesystem::read_symlink("/proc/self/exe").string() + " --client";
    ::execl(srt, srt, "--settings", settings.c_str(), "-c", self.c_str(), nullptr);
    ::_exit(127);
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  figures f;
  std::ifstream in(dir + "/figures");
  if (status != 0 || !(in >> f.rate >> f.connections >> f.first)) {
    std::fputs("srt failed in this round (a transfer cut short, as a rule)\n", stderr);
    return {};
  }
  return f;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--client")
    return client_in_srt();
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const char* srt = argc > 2 ? argv[2] : nullptr;
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

  // Linux's default everywhere: another one (bbr paces even loopback) would be what is measured.
  for (const auto* where : {&inside, &host, &outside})
    where->in([&] { std::ofstream("/proc/sys/net/ipv4/tcp_congestion_control") << "cubic"; });

  // Forks first: no thread may exist yet.
  process(outside, [] { serve("192.0.2.80"); });
  process(inside, [] { serve("127.0.0.1"); });
  process(host, [] { serve("127.0.0.1"); });
  process(outside, [] {
    boost::asio::io_context io{1};
    name_server dns(io, "192.0.2.53");
    dns.set("www.example.org", {{"192.0.2.80"}}, 60);
    io.run();
  });
  inside.enter();
  auto http = listen_on("127.0.0.1", 41080), socks = listen_on("127.0.0.1", 41081);
  auto local_bulk = listen_on("127.0.0.1", bulk_port + local_ports),
       local_short = listen_on("127.0.0.1", short_port + local_ports);
  char name[] = "/tmp/piorch-bench-XXXXXX";
  const std::string dir = ::mkdtemp(name);
  std::ofstream(dir + "/resolv.conf") << "nameserver 192.0.2.53\n";
  std::ofstream(dir + "/srt.json")
      << R"({"network":{"allowedDomains":["www.example.org"],"deniedDomains":[]},)"
         R"("filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}})";
  const pid_t gateway = process(host, [&] {
    boost::asio::io_context io{1};
    sandbox::network::gateway_options options;
    options.names.resolv_conf = dir + "/resolv.conf";
    options.rules.allowed = {
        {{*config::parse_pattern("www.example.org", config::domain_list::allowed)}, "bench"}};
    sandbox::network::gateway g(io, options, {});
    if (g.listen_http(std::move(http)) && g.listen_socks(std::move(socks)) &&
        g.listen_local(std::move(local_bulk), bulk_port) &&
        g.listen_local(std::move(local_short), short_port))
      io.run();
  });
  const auto bare = listen_on("127.0.0.1", 41082);
  process(host, [&] { bare_splice(bare); });
  ::sleep(1); // the servers are up

  struct way {
    const char* name;
    pid_t through = 0; // whose processor time it is
    opener open;       // none: srt
    const netns* from; // null: inside
    bool only_rate = false;
    std::vector<figures> all = {};
  };
  std::vector<way> ways{
      {"direct, loopback", 0, [](auto port) { return connect_to("127.0.0.1", port); }, nullptr},
      {"direct, the proxies' way out", 0, [](auto port) { return connect_to("192.0.2.80", port); },
       &host},
      {"a bare splice loop", 0, [](auto) { return connect_to("127.0.0.1", 41082); }, nullptr, true},
      {"CONNECT", gateway, [](auto port) { return through_connect(41080, port); }, nullptr},
      {"SOCKS5", gateway, through_socks, nullptr},
      {"an allowed local port", gateway,
       [](auto port) {
         return connect_to("127.0.0.1", static_cast<std::uint16_t>(port + local_ports));
       },
       nullptr}};
  if (srt)
    ways.push_back({"srt, CONNECT", 0, nullptr, nullptr});
  for (int i = 0; i < rounds; ++i) {
    // All transfers, then all connections: what thousands of connections leave to be cleared away
    // would burden the next transfer.
    const auto in = [](const netns* where, auto fn) { where ? where->in(fn) : fn(); };
    for (auto& w : ways) {
      w.all.emplace_back();
      if (w.open)
        in(w.from, [&] { measure_rate(w.open, w.through, w.all.back()); });
    }
    for (auto& w : ways)
      if (!w.open)
        w.all.back() = round_in_srt(srt, host, dir);
      else if (!w.only_rate)
        in(w.from, [&] { measure_connections(w.open, w.all.back()); });
    std::rotate(ways.begin(), ways.begin() + 1, ways.end()); // none is always the first
  }
  std::rotate(ways.begin(), ways.end() - rounds % static_cast<int>(ways.size()), ways.end());

  std::printf("%-30s %8s %10s %14s %14s   (medians of %d rounds)\n", "way", "MiB/s", "CPU s/GiB",
              "connections/s", "first byte ms", rounds);
  for (const auto& w : ways) {
    const auto middle = [&](double figures::*what) {
      std::vector<double> values;
      for (const auto& f : w.all)
        values.push_back(f.*what);
      return median(values);
    };
    std::printf("%-30s %8.0f %10.2f %14.0f %14.3f\n", w.name, middle(&figures::rate),
                middle(&figures::cpu), middle(&figures::connections), middle(&figures::first));
  }
  const long empty = rss_kib(gateway);
  std::vector<peer> idle;
  for (int i = 0; i < 1000; ++i)
    idle.push_back(through_connect(41080, hold_port));
  std::printf("memory per idle connection: %.1f KiB\n",
              static_cast<double>(rss_kib(gateway) - empty) / 1000);
  std::fflush(stdout);
  std::filesystem::remove_all(dir);
  ::_exit(0); // the children follow
}
