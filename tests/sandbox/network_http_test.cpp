// http:// requests through the proxy: one by one, each judged, none hidden in
// another.
#include "config/network_limits.hpp"
#include "tests/sandbox/network_example.hpp"

namespace {

using namespace piorch;
using namespace piorch::test;

class SandboxNetworkHttp : public network_example {
protected:
  void SetUp() override {
    network_example::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    dns->set("other.example.org", {{"192.0.2.80"}}, 60);
  }

  // An origin server that keeps what it got and answers with `response`.
  void origin(std::string response, std::uint16_t port = 80) {
    serve(web, port, [this, response](peer& p) {
      auto request = p.head();
      if (auto at = request.find("Content-Length: "); at != std::string::npos)
        request += p.exactly(std::stoul(request.substr(at + 16)));
      else if (has(request, "chunked"))
        while (request.size() < 5 || request.compare(request.size() - 5, 5, "0\r\n\r\n") != 0) {
          const auto piece = p.some(1);
          if (piece.empty())
            break;
          request += piece;
        }
      {
        std::lock_guard<std::mutex> lock(mutex);
        seen.push_back(request);
      }
      p.send(response);
    });
  }
  std::vector<std::string> requests() {
    std::lock_guard<std::mutex> lock(mutex);
    return seen;
  }
  std::string request(const std::string& to = "www.example.org", const std::string& more = "") {
    return "GET http://" + to + "/ HTTP/1.1\r\nHost: " + to + "\r\n" + more + "\r\n";
  }
  // Head and body of a response with a Content-Length.
  static std::string response(peer& p) {
    auto out = p.head();
    if (auto at = out.find("Content-Length: "); at != std::string::npos)
      out += p.exactly(std::stoul(out.substr(at + 16)));
    return out;
  }

  std::mutex mutex;
  std::vector<std::string> seen;
};

const std::string ok =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n"
    "X-End: 2\r\n\r\nhi";

TEST_F(SandboxNetworkHttp, RequestsOnAKeptConnection) {
  origin(ok);
  start({"www.example.org"});
  auto p = http();
  for (int i = 0; i < 3; ++i) {
    p.send(
        request("www.example.org", "Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nX-Keep: 1\r\n"));
    const auto r = response(p);
    EXPECT_TRUE(has(r, "200 OK")) << r;
    EXPECT_TRUE(has(r, "\r\n\r\nhi")) << r;
    EXPECT_TRUE(has(r, "Connection: keep-alive")) << r;
    EXPECT_TRUE(has(r, "X-End: 2")) << r;
    EXPECT_FALSE(has(r, "X-Hop")) << r;
  }
  for (const auto& r : requests()) {
    EXPECT_EQ(r.find("GET / HTTP/1.1\r\nHost: www.example.org\r\n"), 0u) << r;
    EXPECT_TRUE(has(r, "X-Keep: 1")) << r;
    EXPECT_FALSE(has(r, "X-Mine")) << r;
  }
  EXPECT_EQ(servers[0]->accepted(), 3);
}

TEST_F(SandboxNetworkHttp, EveryRequestOfAKeptConnectionIsJudged) {
  origin(ok);
  start({"www.example.org"});
  auto p = http();
  p.send(request());
  EXPECT_TRUE(has(response(p), "200 OK"));
  p.send(request("other.example.org"));
  const auto r = p.all();
  EXPECT_TRUE(has(r, "403 Forbidden")) << r;
  EXPECT_EQ(dns->asked_for("other.example.org"), 0u);
  EXPECT_EQ(requests().size(), 1u);
}

TEST_F(SandboxNetworkHttp, PipelinedRequestsAreAnsweredInOrderAndJudgedOneByOne) {
  origin(ok);
  start({"www.example.org"});
  auto p = http();
  p.send(request() + request() + request("other.example.org") + request());
  EXPECT_TRUE(has(response(p), "200 OK"));
  EXPECT_TRUE(has(response(p), "200 OK"));
  EXPECT_TRUE(has(p.all(), "403 Forbidden")); // and the connection ends there
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(SandboxNetworkHttp, ApprovalsAreAskedPerRequest) {
  origin(ok);
  std::atomic<int> asked{0};
  events.ask = [&](const net::ask_request& r, std::function<void(net::ask_answer)> reply) {
    EXPECT_EQ(r.protocol, "HTTP");
    reply({++asked < 3, "approval", "enough"});
  };
  start({});
  auto p = http();
  for (int i = 0; i < 2; ++i) {
    p.send(request());
    EXPECT_TRUE(has(response(p), "200 OK"));
  }
  p.send(request());
  EXPECT_TRUE(has(p.all(), "enough"));
  EXPECT_EQ(asked, 3);
}

TEST_F(SandboxNetworkHttp, BodiesInEveryFraming) {
  origin(ok);
  start({"www.example.org"});
  auto p = http();
  p.send("POST http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: "
         "40000\r\n\r\n" +
         std::string(40000, 'b'));
  EXPECT_TRUE(has(response(p), "200 OK"));
  p.send("POST http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n"
         "Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n");
  std::this_thread::sleep_for(50ms);
  p.send("6\r\n world\r\n0\r\nX-Trailer: y\r\n\r\n" + request());
  EXPECT_TRUE(has(response(p), "200 OK"));
  EXPECT_TRUE(has(response(p), "200 OK")); // the next one starts exactly behind
  p.send("POST http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: "
         "0\r\n\r\n");
  EXPECT_TRUE(has(response(p), "200 OK"));
  const auto got = requests();
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].size() - got[0].find("\r\n\r\n") - 4, 40000u);
  EXPECT_TRUE(has(got[1], "5\r\nhello\r\n")) << got[1];
  EXPECT_FALSE(has(got[1], "ext=1")) << got[1];
  EXPECT_EQ(got[2].find("GET / "), 0u);
  EXPECT_TRUE(has(got[3], "Content-Length: 0"));
}

TEST_F(SandboxNetworkHttp, ResponsesInEveryFraming) {
  origin("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
         81);
  origin("HTTP/1.1 200 OK\r\n\r\n" + std::string(100000, 'z'), 82); // until the connection ends
  origin("HTTP/1.1 204 No Content\r\n\r\n", 83);
  origin("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 84);
  origin("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, 85);
  origin("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 86);
  start({"www.example.org"});
  auto p = http();
  p.send(request("www.example.org:81"));
  auto head = p.head();
  EXPECT_TRUE(has(head, "chunked")) << head;
  EXPECT_TRUE(has(head, "keep-alive")) << head;
  std::string body;
  while (body.size() < 5 || body.compare(body.size() - 5, 5, "0\r\n\r\n") != 0) {
    const auto piece = p.some(1);
    ASSERT_FALSE(piece.empty()) << body;
    body += piece;
  }
  EXPECT_TRUE(has(body, "abc")) << body;
  for (auto port : {"83", "86"}) {
    p.send(request("www.example.org:" + std::string(port)));
    EXPECT_TRUE(has(p.head(), "keep-alive")) << port;
  }
  p.send(request("www.example.org:84"));
  EXPECT_TRUE(has(p.head(), "304")); // whose length speaks of another body
  p.send(request("www.example.org:85"));
  EXPECT_TRUE(has(response(p), "200 OK"));
  p.send("HEAD http://www.example.org:81/ HTTP/1.1\r\nHost: www.example.org:81\r\n\r\n");
  EXPECT_TRUE(has(p.head(), "200 OK"));
  p.send(request("www.example.org:82"));
  const auto all = p.all();
  EXPECT_TRUE(has(all, "Connection: close")) << all.substr(0, 200);
  EXPECT_EQ(all.size() - all.find("\r\n\r\n") - 4, 100000u);
}

TEST_F(SandboxNetworkHttp, AChunkedResponseForAnOldClientIsUnwrapped) {
  origin("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  start({"www.example.org"});
  auto p = http();
  p.send("GET http://www.example.org/ HTTP/1.0\r\n\r\n");
  const auto all = p.all();
  EXPECT_TRUE(has(all, "\r\n\r\nabcde")) << all;
  EXPECT_FALSE(has(all, "chunked")) << all;
}

TEST_F(SandboxNetworkHttp, ContinueIsPassedOnToWhoWaitsForIt) {
  serve(web, 80, [](peer& p) {
    if (!has(p.head(), "Expect: 100-continue"))
      return;
    p.send("HTTP/1.1 100 Continue\r\n\r\n");
    p.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + p.exactly(3));
  });
  start({"www.example.org"});
  auto p = http();
  p.send("PUT http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: 3\r\n"
         "Expect: 100-continue\r\n\r\n");
  EXPECT_TRUE(has(p.head(), "100 Continue"));
  p.send("abc");
  EXPECT_TRUE(has(response(p), "abc"));
}

TEST_F(SandboxNetworkHttp, AnAnswerBeforeTheEndOfTheBodyArrives) {
  serve(web, 80, [](peer& p) {
    p.head();
    p.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
    p.shut_write();
    p.all();
  });
  start({"www.example.org"});
  auto p = http();
  p.send("PUT http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: "
         "1000\r\n\r\nabc");
  EXPECT_TRUE(has(p.all(), "big"));
  p.close();
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHttp, WhatSmugglesNeverReachesAServer) {
  origin(ok);
  start({"www.example.org"});
  const std::string post = "POST http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\n";
  for (const auto& bad : {
           post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
           post + "Transfer-Encoding: chunked\r\n folded: x\r\n\r\n0\r\n\r\n",
           post + "X: y\nContent-Length: 0\r\n\r\n",
           std::string("GET http://www.example.org/ HTTP/1.1\r\nHost: other.example.org\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n"),
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 12),
       }) {
    auto p = http();
    p.send(bad);
    EXPECT_TRUE(has(p.all(), "HTTP/1.1 400 ")) << bad;
  }
  ASSERT_EQ(report().size(), 1u);
  EXPECT_EQ(report()[0], (net::network_event{"HTTP", 0, "deny", "protocol"}));
  auto bad_chunk = http();
  bad_chunk.send(post + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n");
  EXPECT_FALSE(has(bad_chunk.all(), "200 OK"));
  auto garbage = http(); // behind a request that was answered
  garbage.send(request() + "garbage\r\n\r\n");
  EXPECT_TRUE(has(response(garbage), "200 OK"));
  EXPECT_TRUE(has(garbage.all(), "400"));
  for (const auto& r : requests())
    EXPECT_FALSE(has(r, "hello")) << r;
}

TEST_F(SandboxNetworkHttp, GarbageBehindARefusedConnectIsNotARequest) {
  origin(ok);
  start({"www.example.org"});
  auto p = http();
  p.send("CONNECT other.example.org:80 HTTP/1.1\r\nHost: other.example.org\r\n\r\n" + request());
  const auto all = p.all();
  EXPECT_TRUE(has(all, "403")) << all;
  EXPECT_FALSE(has(all, "200 OK")) << all;
  EXPECT_TRUE(requests().empty());
}

TEST_F(SandboxNetworkHttp, AServerThatBreaksOffIsNotMistakenForOneThatEnded) {
  serve(web, 81, [](peer& p) { p.head(); });
  origin("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", 82);
  origin("not http at all\r\n\r\n", 83);
  origin("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 84);
  start({"www.example.org"});
  for (auto port : {"81", "83", "84"}) {
    auto p = http();
    p.send(request("www.example.org:" + std::string(port)));
    const auto all = p.all();
    EXPECT_TRUE(has(all, "502 Bad Gateway")) << port << all;
  }
  auto p = http();
  p.send(request("www.example.org:82"));
  p.head();
  EXPECT_EQ(p.exactly(100).size(), 5u);
  EXPECT_EQ(p.last_error(), ECONNRESET);
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHttp, InterimAnswersWithoutEndAreNoAnswer) {
  std::string hints;
  for (int i = 0; i < limits::http_interim_answers; ++i)
    hints += "HTTP/1.1 100 Continue\r\n\r\n";
  origin(hints + ok, 81);
  serve(web, 82, [&](peer& p) {
    while (p.send(hints)) {
    }
  });
  start({"www.example.org"});
  auto p = http();
  p.send(request("www.example.org:81"));
  EXPECT_TRUE(has(response(p), "200 OK"));
  p.send(request("www.example.org:82"));
  const auto all = p.all();
  EXPECT_TRUE(has(all, "502 Bad Gateway")) << all;
  EXPECT_TRUE(has(all, "too many interim answers")) << all;
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHttp, AClientThatLeavesIsNoticed) {
  std::promise<void> over;
  serve(web, 80, [&](peer& p) {
    p.head();
    p.all(); // never answers
    over.set_value();
  });
  start({"www.example.org"});
  {
    auto p = http();
    p.send(request());
    std::this_thread::sleep_for(50ms);
    p.reset();
  }
  EXPECT_EQ(over.get_future().wait_for(5s), std::future_status::ready);
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkHttp, ABigBodyGoesThroughBothWays) {
  serve(web, 80, [](peer& p) {
    p.head();
    const auto body = p.exactly(32 << 20);
    p.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  start({"www.example.org"});
  auto p = http();
  p.send("PUT http://www.example.org/ HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: "
         "33554432\r\n\r\n");
  std::string body(32 << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i)
    body[i] = static_cast<char>(i * 31 >> 3);
  std::thread writer([&] { p.send(body); });
  p.head();
  EXPECT_TRUE(p.exactly(body.size()) == body);
  writer.join();
}

} // namespace
