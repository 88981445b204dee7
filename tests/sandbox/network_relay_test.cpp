// The relay on its own: what has happened to a connection before it is handed over.
#include "sandbox/network/relay.hpp"

#include "tests/support/peer.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <gtest/gtest.h>

#include <netinet/tcp.h>
#include <poll.h>
#include <thread>

namespace {

namespace asio = boost::asio;
using namespace piorch;
using namespace piorch::test;
using piorch::sandbox::network::relay;
using piorch::sandbox::network::relay_resources;

// A connection over loopback: the relay's end, and the other one.
std::pair<asio::ip::tcp::socket, peer> connection(asio::io_context& io) {
  asio::ip::tcp::acceptor listening(io, {asio::ip::address_v4::loopback(), 0});
  peer other = connect_to("127.0.0.1", listening.local_endpoint().port());
  return {listening.accept(), std::move(other)};
}

struct outcome {
  std::string text;
  int error;
};

// What the client gets when the server has done `before` by the time the relay begins.
outcome seen_by_client(const std::function<void(peer&)>& before) {
  asio::io_context io;
  auto [to_client, client] = connection(io);
  auto [to_server, server] = connection(io);
  before(server);
  pollfd arrived{to_server.native_handle(), POLLIN, 0};
  ::poll(&arrived, 1, 10'000);
  bool ended = false;
  auto r = std::make_shared<relay>(std::move(to_client), std::move(to_server), "", "hello\n",
                                   std::make_shared<relay_resources>(std::chrono::seconds(10)),
                                   [&] { ended = true; });
  r->start();
  r.reset();
  outcome out;
  std::thread reader([&out, &from = client, &other = server] {
    out.text = from.all();
    out.error = from.last_error();
    from.close();
    other.close();
  });
  io.run();
  reader.join();
  EXPECT_TRUE(ended);
  return out;
}

TEST(SandboxNetworkRelay, WhatTheServerSaidAlreadyComesAfterTheGreeting) {
  std::string words; // more than a buffer
  for (int i = 0; words.size() < 200'000; ++i)
    words += std::to_string(i) + ' ';
  const auto seen = seen_by_client([&](peer& server) {
    server.send(words);
    server.close();
  });
  EXPECT_TRUE(seen.text == "hello\n" + words);
  EXPECT_EQ(seen.error, 0);
  const auto silent = seen_by_client([](peer& server) { server.close(); });
  EXPECT_EQ(silent.text, "hello\n");
  EXPECT_EQ(silent.error, 0);
}

// A reset is told once: who does not act on it takes the next read for a proper end.
TEST(SandboxNetworkRelay, AServerThatWasResetAlreadyIsAReset) {
  EXPECT_EQ(seen_by_client([](peer& server) { server.reset(); }).error, ECONNRESET)
      << "a cut transfer must not look complete";
}

// As much as the kernel takes while nobody reads.
std::size_t send_all_that_fits(peer& p, std::size_t most) {
  const std::string block(64u << 10, 'q');
  std::size_t sent = 0;
  while (sent < most) {
    pollfd room{p.fd(), POLLOUT, 0};
    if (::poll(&room, 1, 50) != 1)
      break;
    const auto n = ::send(p.fd(), block.data(), std::min(block.size(), most - sent),
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      sent += static_cast<std::size_t>(n);
  }
  return sent;
}

struct last_bytes {
  std::size_t sent = 0, received = 0;
  int error = 0; // of the server's last read
  std::chrono::steady_clock::duration took{};
};

// A client that has sent what it could is gone when the server begins to `read`.
last_bytes finish(std::size_t most, const std::function<void(peer&, last_bytes&)>& read) {
  asio::io_context io;
  auto [to_client, client] = connection(io);
  auto [to_server, server] = connection(io);
  auto r =
      std::make_shared<relay>(std::move(to_client), std::move(to_server), "", "",
                              std::make_shared<relay_resources>(std::chrono::seconds(10)), [] {});
  r->start();
  last_bytes out;
  std::thread sender([&, &from = client] {
    out.sent = send_all_that_fits(from, most);
    from.close();
  });
  while (io.run_one_for(std::chrono::milliseconds(300)) != 0) {
  }
  sender.join();
  const auto began = std::chrono::steady_clock::now();
  r->finish();
  std::thread reader([&, &from = server] { read(from, out); });
  io.restart();
  io.run();
  out.took = std::chrono::steady_clock::now() - began;
  r.reset();
  reader.join();
  return out;
}

void read_late(peer& server, last_bytes& out) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  out.received = server.all().size();
  out.error = server.last_error();
}

TEST(SandboxNetworkRelay, WhatAnEndedClientHasSentArrivesThoughItIsReadLate) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{400'000}, std::size_t{64} << 20}) {
    const auto seen = finish(most, read_late);
    EXPECT_GT(seen.sent, 0u);
    EXPECT_EQ(seen.received, seen.sent);
    EXPECT_EQ(seen.error, 0);
  }
}

TEST(SandboxNetworkRelay, AnEndedClientsBytesArriveThoughTheServerTalksFirst) {
  const auto seen = finish(std::size_t{64} << 20, [](peer& server, last_bytes& out) {
    // It reads on only when it is rid of its own words.
    EXPECT_TRUE(server.send(std::string(32u << 20, 'w')));
    out.received = server.all().size();
    out.error = server.last_error();
  });
  EXPECT_EQ(seen.received, seen.sent);
  EXPECT_EQ(seen.error, 0);
}

TEST(SandboxNetworkRelay, AnEndedClientThatIsDeliveredCostsNoTime) {
  EXPECT_LT(finish(0, read_late).took, std::chrono::milliseconds(100));
  EXPECT_LT(finish(10'000, read_late).took, std::chrono::milliseconds(100));
}

TEST(SandboxNetworkRelay, AServerThatReadsNothingIsNotWaitedForAndSeesAReset) {
  const auto seen = finish(std::size_t{64} << 20, [](peer& server, last_bytes& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    out.received = server.all().size();
    out.error = server.last_error();
  });
  EXPECT_GE(seen.took, std::chrono::milliseconds(450));
  EXPECT_LT(seen.took, std::chrono::milliseconds(1000));
  EXPECT_LT(seen.received, seen.sent);
  EXPECT_EQ(seen.error, ECONNRESET) << "a cut transfer must not look complete";
}

TEST(SandboxNetworkRelay, AClientThatHalfClosedIsProbed) {
  asio::io_context io;
  auto [to_client, client] = connection(io);
  auto [to_server, server] = connection(io);
  const ipc::unique_fd seen(::dup(to_client.native_handle()));
  auto r =
      std::make_shared<relay>(std::move(to_client), std::move(to_server), "", "",
                              std::make_shared<relay_resources>(std::chrono::seconds(10)), [] {});
  r->start();
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    ::getsockopt(seen.get(), level, name, &value, &size);
    return value;
  };
  io.poll();
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  client.shut_write();
  for (int i = 0; i < 1000 && option(SOL_SOCKET, SO_KEEPALIVE) == 0; ++i)
    io.run_for(std::chrono::milliseconds(5));
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 75);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 15);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 2);
  r->abort();
  io.run();
}

} // namespace
