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

// With a FIN it may only have said all it had to say: then until the dialling is over.
TEST_F(SandboxNetworkTunnel, AHostThatDoesNotAnswerIsLeftWhenTheClientLeaves) {
  options.times.connect = 2s;
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

// The end of a sandbox whose programs have ended by themselves.
class SandboxNetworkLastBytes : public SandboxNetworkTunnel {
protected:
  // How long it takes.
  std::chrono::steady_clock::duration finish() {
    const auto began = std::chrono::steady_clock::now();
    std::promise<void> done;
    on_loop([&] {
      gateway->finish([&] {
        gateway->stop();
        done.set_value();
      });
    });
    done.get_future().wait();
    return std::chrono::steady_clock::now() - began;
  }
  // A server that reads nothing before it `may`.
  void serve_late(const std::string& ip, std::uint16_t port) {
    auto late = [this](peer& p) {
      may.get_future().wait();
      const auto n = p.all().size();
      received.set_value({n, p.last_error()});
    };
    if (ip == web)
      return serve(ip, port, late);
    auto listener = host->in([&] { return listen_on(ip, port); });
    servers.push_back(std::make_unique<server>(std::move(listener), late));
  }
  void expect_all(std::size_t n) {
    const auto seen = received.get_future().get();
    EXPECT_EQ(seen.first, n);
    EXPECT_EQ(seen.second, 0) << "a reset";
  }
  std::promise<void> may;
  std::promise<std::pair<std::size_t, int>> received;
};

TEST_F(SandboxNetworkLastBytes, WhatTheHostsKernelHasTakenArrivesAfterTheEnd) {
  serve_late(web, 443);
  start({"www.example.org"});
  auto p = opened();
  p.send(std::string(400'000, 'q'));
  p.close();
  finish();
  may.set_value();
  expect_all(400'000);
}

TEST_F(SandboxNetworkLastBytes, MoreThanThatArrivesWhereTheServerBeginsToReadInTime) {
  serve_late(web, 443);
  start({"www.example.org"});
  auto p = socks();
  ASSERT_TRUE(p.send(std::string("\x05\x01\x00", 3)) && p.exactly(2).size() == 2);
  p.send(std::string("\x05\x01\x00\x03\x0fwww.example.org\x01\xbb", 22));
  ASSERT_EQ(p.exactly(10).size(), 10u);
  p.send(std::string(1'500'000, 'q'));
  p.close();
  std::thread later([&] {
    std::this_thread::sleep_for(100ms);
    may.set_value();
  });
  finish();
  later.join();
  expect_all(1'500'000);
}

// Connected, said and ended before anybody has looked.
TEST_F(SandboxNetworkLastBytes, ALocalPortMayStillBeDialled) {
  serve_late("127.0.0.1", 11434);
  start({});
  auto listener = listen_on("127.0.0.1", 11434);
  on_loop([&] {
    ASSERT_TRUE(gateway->listen_local(std::move(listener), 11434));
    auto p = inside->in([] { return connect_to("127.0.0.1", 11434); });
    p.send(std::string(100'000, 'q'));
    p.close();
  });
  finish();
  may.set_value();
  expect_all(100'000);
}

TEST_F(SandboxNetworkLastBytes, NothingUnderWayIsNotWaitedFor) {
  serve_late(web, 443);
  start({"www.example.org"});
  auto p = opened();
  p.send("hello");
  p.close();
  auto head = http(); // has said nothing
  EXPECT_LT(finish(), 200ms);
  may.set_value();
  expect_all(5);
}

TEST_F(SandboxNetworkLastBytes, WhatIsStuckIsCutAfterHalfASecond) {
  serve_late(web, 443);
  start({"www.example.org"});
  auto p = opened();
  const std::string block(64u << 10, 'q');
  for (pollfd room{p.fd(), POLLOUT, 0}; ::poll(&room, 1, 100) == 1;)
    ::send(p.fd(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  p.close();
  const auto took = finish();
  EXPECT_GE(took, 400ms);
  EXPECT_LT(took, 1200ms);
  may.set_value();
  EXPECT_EQ(received.get_future().get().second, ECONNRESET) << "it must not look complete";
}

} // namespace
