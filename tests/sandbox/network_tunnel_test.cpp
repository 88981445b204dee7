// What a tunnel does to the bytes in it, and to the process that holds it.
#include "tests/sandbox/network_tunnel.hpp"

#include <sys/resource.h>

namespace {

using namespace piorch;
using namespace piorch::test;

TEST_F(SandboxNetworkTunnel, AHalfCloseOfTheClientLeavesTheOtherWayOpen) {
  serve(web, 443, [](peer& p) {
    const auto everything = p.all(); // a server that answers after the end of the question
    p.send("got " + std::to_string(everything.size()));
  });
  start({"www.example.org"});
  auto p = opened();
  p.send(std::string(300000, 'x'));
  p.shut_write();
  EXPECT_EQ(p.all(), "got 300000");
  EXPECT_EQ(p.last_error(), 0);
  p.close();
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, AHalfCloseOfTheServerLeavesTheOtherWayOpen) {
  std::promise<std::string> received;
  serve(web, 443, [&](peer& p) {
    p.send("welcome");
    p.shut_write();
    received.set_value(p.all());
  });
  start({"www.example.org"});
  auto p = opened();
  EXPECT_EQ(p.all(), "welcome");
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(p.send("still talking"));
  p.close();
  EXPECT_EQ(received.get_future().get(), "still talking");
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, AResetIsPassedOnAsAReset) {
  std::promise<int> seen;
  serve(web, 443, [](peer& p) {
    p.send("part of it");
    p.exactly(2);
    p.reset();
  });
  serve(web, 444, [&](peer& p) {
    p.all();
    seen.set_value(p.last_error());
  });
  start({"www.example.org"});
  auto cut = opened();
  EXPECT_EQ(cut.exactly(10), "part of it");
  cut.send("go");
  EXPECT_EQ(cut.some(), "");
  EXPECT_EQ(cut.last_error(), ECONNRESET) << "a cut transfer must not look complete";
  auto cutting = opened(444);
  cutting.send("x");
  std::this_thread::sleep_for(50ms);
  cutting.reset();
  EXPECT_EQ(seen.get_future().get(), ECONNRESET);
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, AClientKilledInMidTransferCostsNothingAfterwards) {
  serve(web, 443, [](peer& p) {
    const std::string block(1 << 20, 'x');
    while (p.send(block)) {
    }
  });
  start({"www.example.org"});
  const auto before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    auto p = opened();
    p.exactly(5 << 20);
    p.close(); // with unread bytes, as the kernel does for a killed process
  }
  expect_rest();
  EXPECT_LE(open_descriptors(), before + 20); // pipes kept for later use
}

// Bytes that depend on their place, so that nothing can be lost, doubled or swapped.
void pattern(std::string& block, std::uint64_t at) {
  for (std::size_t i = 0; i + 8 <= block.size(); i += 8) {
    const std::uint64_t word = (at + i) * 0x9e3779b97f4a7c15ull;
    std::memcpy(&block[i], &word, 8);
  }
}

TEST_F(SandboxNetworkTunnel, ABigTransferArrivesByteForByte) {
  const std::uint64_t total = (std::getenv("PIORCH_LONG") ? 10ull : 1ull) << 30;
  serve(web, 443, [&](peer& p) {
    std::string block(256 << 10, '\0');
    for (std::uint64_t at = 0; at < total; at += block.size()) {
      pattern(block, at);
      if (!p.send(block))
        return;
    }
  });
  start({"www.example.org"});
  auto p = opened();
  std::string expected(256 << 10, '\0');
  std::uint64_t at = 0;
  for (; at < total; at += expected.size()) {
    pattern(expected, at);
    ASSERT_TRUE(p.exactly(expected.size()) == expected) << "at " << at;
  }
  EXPECT_EQ(p.some(), "");
  EXPECT_EQ(p.last_error(), 0);
  p.close();
  expect_rest();
}

// Whoever sends a lot is waited for a little, but not for ever.
TEST_F(SandboxNetworkTunnel, TheEndOfABurstArrivesThoughTheConnectionStaysOpen) {
  constexpr int bursts = 50;
  constexpr std::size_t size = 4u << 20;
  serve(web, 443, [&](peer& p) {
    const std::string burst(size, 'x');
    for (int i = 0; i < bursts && p.send(burst); ++i) {
      std::this_thread::sleep_for(1ms);
      if (!p.send("end") || p.exactly(5) != "thank")
        return;
    }
  });
  start({"www.example.org"});
  auto p = opened();
  for (int i = 0; i < bursts; ++i) {
    ASSERT_EQ(p.exactly(size + 3).size(), size + 3) << i;
    ASSERT_TRUE(p.send("thank"));
  }
  p.close();
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, BothWaysAtOnceThroughSocks) {
  constexpr std::size_t total = 64u << 20;
  std::atomic<std::size_t> received{0};
  serve(web, 443, [&](peer& p) {
    std::thread writer([&] {
      const std::string block(128 << 10, 'd');
      for (std::size_t n = 0; n < total && p.send(block); n += block.size()) {
      }
    });
    while (received < total) {
      const auto piece = p.some(1 << 20);
      if (piece.empty())
        break;
      received += piece.size();
    }
    writer.join();
  });
  start({"www.example.org"});
  auto p = socks();
  ASSERT_EQ(socks_code(p, "www.example.org", 443), 0);
  std::thread writer([&] {
    const std::string block(128 << 10, 'u');
    for (std::size_t n = 0; n < total && p.send(block); n += block.size()) {
    }
  });
  EXPECT_EQ(p.exactly(total).size(), total);
  writer.join();
  p.close();
  expect_rest();
  EXPECT_EQ(received, total);
}

TEST_F(SandboxNetworkTunnel, AnUpstreamThatNeverAnswersIsLeftWhenTheClientLeaves) {
  std::promise<void> over;
  serve(web, 443, [&](peer& p) {
    EXPECT_EQ(p.all(), "question");
    over.set_value();
  });
  start({"www.example.org"});
  auto p = opened();
  p.send("question");
  std::this_thread::sleep_for(50ms);
  p.close();
  EXPECT_EQ(over.get_future().wait_for(5s), std::future_status::ready);
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, AHostThatDoesNotAnswerIsLeftWhenTheClientLeaves) {
  dns->set("hole.example.org", {{"198.51.100.99"}}); // no host there, the packets vanish
  outside->ip("route add blackhole 198.51.100.99/32");
  start({"hole.example.org"});
  {
    auto p = http();
    p.send("CONNECT hole.example.org:443 HTTP/1.1\r\nHost: hole.example.org\r\n\r\n");
    while (connections() != 1)
      std::this_thread::sleep_for(5ms);
  }
  expect_rest();
}

TEST_F(SandboxNetworkTunnel, StoppingTheGatewayResetsEverybody) {
  serve(web, 443, [](peer& p) { p.all(); });
  start({"www.example.org"});
  auto p = opened();
  auto half = http();
  half.send("CONNECT ");
  while (connections() != 2)
    std::this_thread::yield();
  on_loop([&] { gateway.reset(); });
  EXPECT_EQ(p.some(), "");
  EXPECT_EQ(p.last_error(), ECONNRESET);
  EXPECT_EQ(half.some(), "");
  EXPECT_THROW(http(), std::runtime_error);
}

} // namespace
