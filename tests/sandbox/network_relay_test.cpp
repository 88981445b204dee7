// The relay on its own: what has happened to a connection before it is handed over.
#include "sandbox/network/relay.hpp"

#include "tests/support/peer.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <gtest/gtest.h>

#include <poll.h>

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

} // namespace
