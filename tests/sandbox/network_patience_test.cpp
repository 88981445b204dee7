// Nothing waits for ever: a client or a server that stops half-way is given up. The
// limits are short here; what is compared is that the end comes, never how soon.
#include "tests/sandbox/network_example.hpp"

namespace {

using namespace piorch;
using namespace piorch::test;

class SandboxNetworkPatience : public network_example {
protected:
  void SetUp() override {
    network_example::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    dns->set("nobody.example.org", {{"192.0.2.99"}}, 60);
    // Long ones for the waits that a test is not about.
    options.times = {60s, 60s, 60s, 60s, 60s};
  }
  // The connection ends, by FIN or by reset, and the gateway has nothing left.
  void expect_given_up(peer& p) {
    EXPECT_EQ(p.some(), "");
    EXPECT_NE(p.last_error(), EAGAIN) << "still waiting";
    p.close();
    EXPECT_TRUE(becomes_idle());
  }
};

TEST_F(SandboxNetworkPatience, AClientThatSaysNothing) {
  options.times.http_head = options.times.socks_handshake = 2s;
  start({"www.example.org"});
  auto to_http = http(), to_socks = socks();
  expect_given_up(to_http);
  expect_given_up(to_socks);
}

TEST_F(SandboxNetworkPatience, AHeadThatNeverEnds) {
  options.times.http_head = 100ms;
  start({"www.example.org"});
  auto p = http();
  p.send("CONNECT www.exa");
  expect_given_up(p);
}

// One byte now and then is no progress: the limit is for the whole head.
TEST_F(SandboxNetworkPatience, AHeadThatComesByteByByte) {
  options.times.http_head = 500ms;
  start({"www.example.org"});
  auto p = http();
  bool open = true;
  for (int i = 0; i < 1000 && open; ++i) {
    open = p.send("x");
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(open);
  p.close();
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkPatience, ASocksHandshakeThatStops) {
  options.times.socks_handshake = 2s;
  start({"www.example.org"});
  auto p = socks();
  p.send(std::string("\x05\x01\x00\x05\x01", 5));
  EXPECT_EQ(p.exactly(2), std::string("\x05\x00", 2));
  expect_given_up(p);
}

TEST_F(SandboxNetworkPatience, AKeptConnectionWithoutAnotherRequest) {
  options.times.http_keep_alive = 100ms;
  serve(web, 80, [](peer& p) {
    while (!p.head().empty())
      p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  start({"www.example.org"});
  auto p = http();
  p.send("GET http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n\r\n");
  p.head();
  EXPECT_EQ(p.exactly(2), "ok");
  expect_given_up(p);
}

TEST_F(SandboxNetworkPatience, AServerThatDoesNotAnswerTheCall) {
  options.times.connect = 100ms;
  start({"nobody.example.org"});
  const auto answer = connect_answer("nobody.example.org:443");
  EXPECT_NE(answer.find("504"), std::string::npos) << answer;
  EXPECT_NE(answer.find("did not answer in time"), std::string::npos) << answer;
  auto p = socks();
  EXPECT_EQ(socks_code(p, "nobody.example.org", 443), 6); // TTL expired
  p.close();
  EXPECT_TRUE(becomes_idle());
}

// A killed client looks like one that half-closed.
TEST_F(SandboxNetworkPatience, AHalfClosedTunnelWithoutAByte) {
  options.times.half_closed = 200ms;
  std::promise<void> over;
  serve(web, 443, [&, done = over.get_future().share()](peer& p) {
    p.all(); // through the FIN
    done.wait();
  });
  start({"www.example.org"});
  auto p = http();
  ASSERT_TRUE(tunnel(p, "www.example.org:443"));
  p.shut_write();
  expect_given_up(p);
  over.set_value();
}

// The bound is for a time without a byte, not for the whole answer.
TEST_F(SandboxNetworkPatience, AHalfClosedClientIsGivenTimeWhileBytesCome) {
  options.times.half_closed = 1s;
  serve(web, 80, [](peer& p) {
    p.head();
    p.send("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n");
    for (int i = 0; i < 30 && p.send("x"); ++i)
      std::this_thread::sleep_for(100ms);
  });
  serve(web, 81, [](peer& p) {
    p.head();
    p.send("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nx");
    p.all();
  });
  start({"www.example.org"});
  auto p = http(), stuck = http();
  p.send("GET http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n\r\n");
  stuck.send("GET http://www.example.org:81/ HTTP/1.1\r\nHost: www.example.org:81\r\n\r\n");
  p.head();
  stuck.head();
  p.shut_write();
  stuck.shut_write();
  EXPECT_EQ(p.exactly(30), std::string(30, 'x'));
  EXPECT_EQ(p.last_error(), 0);
  EXPECT_EQ(stuck.exactly(1), "x");
  expect_given_up(stuck);
}

} // namespace
