// A client that says all it has to say, then FIN, and then reads.
#include "tests/sandbox/network_example.hpp"

namespace {

using namespace piorch;
using namespace piorch::test;

class SandboxNetworkHalfClose : public network_example {
protected:
  // Everything until the end, which must be no reset.
  static std::string answer_to(peer p, const std::string& everything) {
    p.send(everything);
    p.shut_write();
    auto out = p.all();
    EXPECT_EQ(p.last_error(), 0) << out;
    return out;
  }
};

TEST_F(SandboxNetworkHalfClose, ARequestIsAnswered) {
  serve(web, 80, [](peer& p) {
    p.head();
    p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  start({"www.example.org"});
  const std::string get = "GET http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(has(answer_to(http(), "GET http://www.example.org/ HTTP/1.0\r\n\r\n"), "hi"));
    EXPECT_TRUE(has(answer_to(http(), get), "hi"));
    const auto two = answer_to(http(), get + get);
    EXPECT_NE(two.find("hi"), two.rfind("hi")) << two;
  }
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHalfClose, ABodyIsPassedOnWholeAndAnswered) {
  serve(web, 80, [](peer& p) {
    const auto head = p.head();
    const auto body = p.exactly(std::stoul(head.substr(head.find("Content-Length: ") + 16)));
    p.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ngot " + std::to_string(body.size()));
  });
  start({"www.example.org"});
  for (std::size_t size : {0u, 5u, 40000u})
    EXPECT_TRUE(
        has(answer_to(http(), "POST http://www.example.org/ HTTP/1.1\r\nHost: "
                              "www.example.org\r\nContent-Length: " +
                                  std::to_string(size) + "\r\n\r\n" + std::string(size, 'b')),
            "got " + std::to_string(size)));
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHalfClose, EarlyDataOfATunnelIsPassedOnWholeAndAnswered) {
  serve(web, 443, [](peer& p) { p.send("got " + std::to_string(p.all().size())); });
  start({"www.example.org"});
  for (std::size_t size : {0u, 5u, 40000u}) {
    const auto expected = "got " + std::to_string(size);
    EXPECT_TRUE(has(answer_to(http(), "CONNECT www.example.org:443 HTTP/1.1\r\nHost: "
                                      "www.example.org:443\r\n\r\n" +
                                          std::string(size, 'e')),
                    expected));
    EXPECT_TRUE(has(answer_to(socks(), std::string("\x05\x01\x00\x05\x01\x00\x03\x0f"
                                                   "www.example.org\x01\xbb",
                                                   25) +
                                           std::string(size, 'e')),
                    expected));
  }
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHalfClose, ARefusalIsTold) {
  start({});
  EXPECT_TRUE(has(answer_to(http(), "GET http://www.example.org/ HTTP/1.0\r\n\r\n"), "403"));
  EXPECT_TRUE(becomes_idle());
}

// Killed clients half-close first; what is left of them is reset when it is probed.
TEST_F(SandboxNetworkHalfClose, AClientThatIsResetAfterItsEndIsLeft) {
  std::promise<int> over;
  serve(web, 443, [&](peer& p) {
    p.all(); // through the FIN
    pollfd gone{p.fd(), 0, 0};
    over.set_value(::poll(&gone, 1, 5000));
  });
  start({"www.example.org"});
  auto p = http();
  ASSERT_TRUE(tunnel(p, "www.example.org:443"));
  p.shut_write();
  std::this_thread::sleep_for(50ms);
  p.reset();
  EXPECT_EQ(over.get_future().get(), 1);
  EXPECT_TRUE(becomes_idle());
}

} // namespace
