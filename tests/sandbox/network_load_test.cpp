// What many, slow and starved tunnels cost the process that holds them.
#include "tests/sandbox/network_tunnel.hpp"

#include <sys/resource.h>

namespace {

using namespace piorch;
using namespace piorch::test;

// What this process has in memory that is in no file. A sanitizer adds its own.
long anonymous_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, 8, "RssAnon:") == 0)
      return std::stol(line.substr(8));
  throw std::runtime_error("no RssAnon");
}
#if defined(__SANITIZE_ADDRESS__)
constexpr bool memory_is_ours = false;
#elif defined(__has_feature)
constexpr bool memory_is_ours = !__has_feature(address_sanitizer);
#else
constexpr bool memory_is_ours = true;
#endif

TEST_F(SandboxNetworkTunnel, ASlowReaderHoldsTheWriterBack) {
  std::atomic<std::size_t> sent{0};
  serve(web, 443, [&](peer& p) {
    const std::string block(64 << 10, 'x');
    for (int i = 0; i < 4096 && p.send(block); ++i) // 256 MiB if nobody stops it
      sent += block.size();
  });
  start({"www.example.org"});
  auto p = opened();
  std::size_t held = 0;
  for (int i = 0, same = 0; i < 150 && same < 5; ++i) { // until it comes to rest
    same = held > 0 && held == sent ? same + 1 : 0;
    held = sent;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(held, 64u << 20); // socket buffers of four ends and one of the relay
  const auto before = loop_cpu_seconds();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(loop_cpu_seconds() - before, 0.1);
  EXPECT_EQ(sent.load(), held);
  std::size_t got = 0;
  for (auto piece = p.some(1 << 20); !piece.empty(); piece = p.some(1 << 20))
    got += piece.size();
  EXPECT_EQ(got, 256u << 20);
}

// What they have not read lies with the senders, whoever many they are.
TEST_F(SandboxNetworkTunnel, SlowReadersTakeNoMemory) {
  constexpr int readers = 64;
  std::atomic<std::size_t> sent{0};
  serve(web, 443, [&](peer& p) {
    static const std::string block(64 << 10, 'x');
    for (int i = 0; i < 1024 && p.send(block); ++i) // 4 GiB if nobody stops them
      sent += block.size();
  });
  start({"www.example.org"});
  std::vector<peer> all;
  const auto before = anonymous_kib();
  for (int i = 0; i < readers; ++i)
    all.push_back(opened());
  std::size_t held = 0;
  for (int i = 0, same = 0; i < 300 && same < 5; ++i) {
    same = held > 0 && held == sent ? same + 1 : 0;
    held = sent;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_GT(held, std::size_t{readers} << 17) << "they did not come far";
  // Sixteen large buffers are lent, everybody else has a small one; this test's own threads.
  EXPECT_TRUE(!memory_is_ours || anonymous_kib() - before < 48 << 10) << anonymous_kib() - before;
  all.clear();
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, SlowWritersAreServedByteByByteAndHoldNothing) {
  constexpr int writers = 200;
  serve(web, 443, [](peer& p) {
    for (auto piece = p.some(); !piece.empty(); piece = p.some())
      p.send(piece);
  });
  start({"www.example.org"});
  const auto before = open_descriptors();
  std::vector<peer> slow;
  for (int i = 0; i < writers; ++i)
    slow.push_back(http());
  // The last byte of the head comes alone, and so does every byte behind it.
  for (const char c :
       std::string("CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org:443\r\n\r\n"))
    for (auto& p : slow)
      ASSERT_TRUE(p.send({&c, 1}));
  for (auto& p : slow)
    ASSERT_EQ(p.head().compare(0, 12, "HTTP/1.1 200"), 0);
  for (const char c : std::string("one at a time")) {
    for (auto& p : slow)
      ASSERT_TRUE(p.send({&c, 1}));
    for (auto& p : slow)
      ASSERT_EQ(p.some(), std::string(1, c)); // passed on at once, not collected
  }
  // Two sockets here, one of the gateway's each way, one of the server's.
  EXPECT_LE(open_descriptors(), before + 4 * writers + 20);
  auto quick = opened();
  quick.send("hello");
  EXPECT_EQ(quick.exactly(5), "hello");
  quick.close();
  const auto cpu = loop_cpu_seconds();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(loop_cpu_seconds() - cpu, 0.1) << "the loop spins between two bytes";
  slow.clear();
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, WhenAllLargeBuffersAreLentTheOthersGoOn) {
  constexpr std::size_t size = 64u << 20;
  serve(web, 443, [&](peer& p) {
    const std::string block(1 << 20, 'x');
    for (std::size_t n = 0; n < size && p.send(block); n += block.size()) {
    }
  });
  start({"www.example.org"});
  std::vector<peer> silent; // each with a full buffer at the relay
  for (std::size_t i = 0; i < limits::relay_bulk_buffers + 2; ++i) {
    silent.push_back(opened());
    ASSERT_EQ(silent.back().exactly(8u << 20).size(), 8u << 20);
  }
  auto p = opened();
  EXPECT_EQ(p.all().size(), size);
  for (peer& one : silent)
    EXPECT_EQ(one.all().size(), size - (8u << 20));
  silent.clear();
  p.close();
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, AThousandConnectionsAtOnceAndThenNone) {
  net::raise_descriptor_limit();
  serve(web, 443, [](peer& p) {
    for (auto s = p.some(); !s.empty(); s = p.some())
      p.send(s);
  });
  start({"www.example.org"});
  const auto before = open_descriptors();
  {
    std::vector<peer> all;
    for (int i = 0; i < 1000; ++i) {
      all.push_back(http());
      all.back().send("CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org:443\r\n\r\n");
    }
    for (auto& p : all)
      ASSERT_EQ(p.head().substr(0, 12), "HTTP/1.1 200");
    EXPECT_GE(connections(), 1000u);
    for (auto& p : all)
      p.send(std::to_string(p.fd()));
    for (auto& p : all)
      EXPECT_EQ(p.exactly(std::to_string(p.fd()).size()), std::to_string(p.fd()));
  }
  expect_rest();
  EXPECT_EQ(dns->asked_for("www.example.org"), 1u) << "one look-up serves all who wait for it";
  servers.clear();
  EXPECT_LE(open_descriptors(), before + 20);
}

TEST_F(SandboxNetworkTunnel, WithoutDescriptorsBytesStillFlow) {
  // The server is in this process, too, and outlives the test's body.
  const auto accepted = std::make_shared<std::atomic<bool>>(false);
  serve(web, 443, [accepted](peer& p) {
    *accepted = true;
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 64 && p.send(block); ++i) {
    }
  });
  start({"www.example.org"});
  auto p = opened();
  while (!*accepted)
    std::this_thread::sleep_for(1ms);
  std::vector<ipc::unique_fd> taken; // every descriptor there is
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit tight{open_descriptors() + 8, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  for (int fd = ::dup(2); fd >= 0; fd = ::dup(2))
    taken.emplace_back(fd);
  EXPECT_EQ(p.exactly(64u << 20).size(), 64u << 20);
  const auto before = loop_cpu_seconds();
  taken.pop_back(); // one for the client, none for accept(2)
  auto queued = http();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(loop_cpu_seconds() - before, 0.15) << "accept spins";
  taken.clear();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  queued.send("CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org\r\n\r\n");
  EXPECT_EQ(queued.head().substr(0, 12), "HTTP/1.1 200");
}

} // namespace
