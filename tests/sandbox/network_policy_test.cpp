// What may leave, and when the outside world hears of it.
#include "tests/sandbox/network_policy.hpp"

#include "config/network_limits.hpp"

#include <sys/resource.h>

namespace {

using namespace piorch;
using namespace piorch::test;

TEST_F(SandboxNetworkPolicy, AnAllowedHostIsReachedByBothProxiesAndReported) {
  dns->set("www.example.org", {{"192.0.2.80"}});
  serve(web, 4433, echo);
  start({"www.example.org"});
  auto a = http();
  ASSERT_TRUE(tunnel(a, "WWW.Example.org.:4433"));
  a.send("hello");
  EXPECT_EQ(a.exactly(5), "hello");
  auto b = socks();
  ASSERT_EQ(socks_code(b, "www.EXAMPLE.org", 4433), 0);
  b.send("again");
  EXPECT_EQ(b.exactly(5), "again");
  const auto r = report();
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].host, "www.example.org");
  EXPECT_EQ(r[0].port, 4433);
  EXPECT_EQ(r[0].decision, "allow");
  EXPECT_EQ(r[0].source, "allowedDomains");
}

TEST_F(SandboxNetworkPolicy, NothingIsLookedUpForARefusedHost) {
  dns->set("secret-data.example.net", {{"192.0.2.80"}});
  start({"www.example.org"}, {"*.example.com"});
  EXPECT_TRUE(has(connect_answer("secret-data.example.net:443"), "403 Forbidden"));
  EXPECT_TRUE(has(connect_answer("a.example.com:443"), "403 Forbidden"));
  EXPECT_TRUE(has(connect_answer("10.1.2.3:443"), "403 Forbidden"));
  auto s = socks();
  EXPECT_EQ(socks_code(s, "secret-data.example.net", 443), 2);
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(SandboxNetworkPolicy, NothingIsLookedUpWhileSomebodyThinks) {
  dns->set("www.example.org", {{"192.0.2.80"}});
  serve(web, 443, echo);
  std::promise<std::function<void(net::ask_answer)>> open_question;
  events.ask = [&](const net::ask_request&, std::function<void(net::ask_answer)> reply) {
    open_question.set_value(std::move(reply));
  };
  start({});
  auto p = http();
  p.send("CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org:443\r\n\r\nearly");
  auto reply = open_question.get_future().get();
  EXPECT_TRUE(dns->log().empty());
  on_loop([&] { reply({true, "approval", ""}); });
  EXPECT_TRUE(has(p.head(), "200"));
  EXPECT_EQ(p.exactly(5), "early"); // what was sent too soon is not lost
  EXPECT_EQ(dns->asked_for("www.example.org"), 1u);
}

TEST_F(SandboxNetworkPolicy, ARefusalSaysWhatWhyAndWhatWouldAllowIt) {
  options.rules.trusted_file = "/home/u/config.json";
  start({}, {"*.example.com"});
  const auto unknown = connect_answer("www.example.org:443");
  for (auto part :
       {"www.example.org:443", "no rule allows it", "\"allowedDomains\": [\"www.example.org\"]",
        "/home/u/config.json", "--allow-domain www.example.org", "Do not retry",
        "Content-Type: text/plain", "Connection: close"})
    EXPECT_TRUE(has(unknown, part)) << part << "\n" << unknown;
  const auto denied = connect_answer("a.example.com:443");
  EXPECT_TRUE(has(denied, "\"*.example.com\" of network.deniedDomains")) << denied;
  const auto address = connect_answer("127.1:22");
  EXPECT_TRUE(has(address, "IP address")) << address;
  EXPECT_TRUE(has(address, "allowedLocalPorts")) << address;
  const auto r = report();
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[0].source, "noApprover");
  EXPECT_EQ(r[1].source, "deniedDomains");
  EXPECT_EQ(r[2].source, "hostName");
}

TEST_F(SandboxNetworkPolicy, EverySpellingOfAForbiddenTargetIsRefusedUnasked) {
  answer_with([](auto&) { return net::ask_answer{true, "approval", ""}; });
  start({});
  for (auto target : {"127.0.0.1:80",
                      "2130706433:80",
                      "0x7f.1:80",
                      "017700000001:80",
                      "[::1]:80",
                      "[::ffff:127.0.0.1]:80",
                      "[64:ff9b::7f00:1]:80",
                      "[2002:7f00:1::]:80",
                      "[fe80::1%25host0]:80",
                      "localhost:80",
                      "localhost.:80",
                      "x.local:80",
                      "metadata.google.internal:80",
                      "intranet:80",
                      "user@www.example.org:80",
                      "www.example.org:0",
                      "www.example.org:65536",
                      "www.example.org:0080",
                      "www%2eexample.org:80",
                      "www.example.org",
                      "www..example.org:80",
                      "www.example.org%00:80"})
    EXPECT_TRUE(has(connect_answer(target), "403 Forbidden")) << target;
  for (std::string name :
       {std::string("127.0.0.1"), std::string("::1"), std::string("0x7f.1"),
        std::string("localhost"), std::string("www.example.org\0", 16),
        std::string("www.example.org\r\n"), std::string("\xef\xbd\x85xample.org")}) {
    auto s = socks();
    EXPECT_EQ(socks_code(s, name, 80), 2) << name;
  }
  auto by_number = socks();
  by_number.send(std::string("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 13));
  EXPECT_EQ(by_number.exactly(12)[3], 2);
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(SandboxNetworkPolicy, AnApprovalHoldsForOneConnection) {
  dns->set("www.example.org", {{"192.0.2.80"}});
  serve(web, 443, echo);
  answer_with([](auto&) { return net::ask_answer{true, "approval", ""}; });
  start({});
  for (int i = 0; i < 3; ++i) {
    auto p = http();
    EXPECT_TRUE(tunnel(p, "www.example.org:443"));
  }
  EXPECT_EQ(asked, (std::vector<std::string>(3, "www.example.org:443 CONNECT")));
}

TEST_F(SandboxNetworkPolicy, ADenialIsNotAskedAgainByRetries) {
  answer_with([](auto&) { return net::ask_answer{false, "approval", "the user said no"}; });
  start({});
  EXPECT_TRUE(has(connect_answer("www.example.org:443"), "the user said no"));
  EXPECT_TRUE(has(connect_answer("www.example.org:443"), "not asked again"));
  auto s = socks();
  EXPECT_EQ(socks_code(s, "www.example.org", 443), 2);
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_TRUE(has(connect_answer("www.example.org:444"), "the user said no")); // another port
  EXPECT_EQ(asked.size(), 2u);
}

// No one said no: as soon as somebody is there, it is asked.
TEST_F(SandboxNetworkPolicy, ARequestThatNobodyAnsweredIsAskedAgain) {
  std::string from;
  answer_with([&](auto&) { return net::ask_answer{false, from, "nobody answered"}; });
  start({});
  for (const char* source : {"noApprover", "tooManyRequests", "approverLeft"}) {
    from = source;
    EXPECT_TRUE(has(connect_answer("www.example.org:443"), "nobody answered"));
  }
  EXPECT_EQ(asked.size(), 3u);
  from = "approvalTimeout"; // silence of somebody who was there is a no
  EXPECT_TRUE(has(connect_answer("www.example.org:443"), "nobody answered"));
  EXPECT_TRUE(has(connect_answer("www.example.org:443"), "not asked again"));
  EXPECT_EQ(asked.size(), 4u);
}

// What the report says is what a person, or piorch why, looks for a remedy for.
TEST_F(SandboxNetworkPolicy, ARefusedNameIsReportedWithItsPort) {
  start({});
  connect_answer("intranet:8443");
  connect_answer("127.0.0.1:5432");
  connect_answer("[::1]:80");
  connect_answer("www.example.org:0080");
  auto absolute = http();
  absolute.send("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
  absolute.all();
  auto by_socks = socks();
  EXPECT_EQ(socks_code(by_socks, "localhost", 5432), 2);
  using entry = net::network_event;
  EXPECT_EQ(report(), (std::vector<entry>{{"intranet", 8443, "deny", "hostName"},
                                          {"127.0.0.1", 5432, "deny", "hostName"},
                                          {"::1", 80, "deny", "hostName"},
                                          {"www.example.org:0080", 0, "deny", "hostName"},
                                          {"localhost", 80, "deny", "hostName"},
                                          {"localhost", 5432, "deny", "hostName"}}));
}

TEST_F(SandboxNetworkPolicy, TheQuestionIsWithdrawnWhenTheClientLeaves) {
  std::promise<std::uint64_t> asked_id, cancelled_id;
  std::function<void(net::ask_answer)> late;
  events.ask = [&](const net::ask_request& r, std::function<void(net::ask_answer)> reply) {
    late = std::move(reply);
    asked_id.set_value(r.id);
  };
  events.ask_cancelled = [&](std::uint64_t id) { cancelled_id.set_value(id); };
  start({});
  auto p = http();
  p.send("CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org\r\n\r\nclient hello");
  const auto id = asked_id.get_future().get();
  p.close();
  auto cancelled = cancelled_id.get_future();
  ASSERT_EQ(cancelled.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(cancelled.get(), id);
  on_loop([&] { late({true, "approval", ""}); }); // too late: nothing happens
  EXPECT_TRUE(becomes_idle());
  EXPECT_TRUE(dns->log().empty());
}

// Nobody is asked for somebody who has probably left, though it only sent FIN.
TEST_F(SandboxNetworkPolicy, TheQuestionIsWithdrawnWhenAClientOfSocksHalfCloses) {
  std::promise<std::uint64_t> asked_id, cancelled_id;
  events.ask = [&](const net::ask_request& r, const std::function<void(net::ask_answer)>&) {
    asked_id.set_value(r.id);
  };
  events.ask_cancelled = [&](std::uint64_t id) { cancelled_id.set_value(id); };
  start({});
  auto p = socks();
  p.send(std::string("\x05\x01\x00\x05\x01\x00\x03\x0fwww.example.org\x01\xbb", 25));
  const auto id = asked_id.get_future().get();
  p.shut_write();
  auto cancelled = cancelled_id.get_future();
  ASSERT_EQ(cancelled.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(cancelled.get(), id);
  EXPECT_TRUE(becomes_idle());
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(SandboxNetworkPolicy, SocksIsRefusedInItsOwnWordsWhereItMustBe) {
  start({"*.example.org"});
  auto four = socks();
  four.send(std::string("\x04\x01\x00\x50\xc0\x00\x02\x50user\0", 13));
  EXPECT_EQ(four.all(), std::string("\x00\x5b\0\0\0\0\0\0", 8));
  for (char command : {'\x02', '\x03'}) {
    auto p = socks();
    p.send(std::string("\x05\x01\x00", 3));
    EXPECT_EQ(p.exactly(2), std::string("\x05\x00", 2));
    p.send(std::string("\x05") + command + std::string("\x00\x01\x00\x00\x00\x00\x00\x35", 8));
    EXPECT_EQ(p.all(), std::string("\x05\x07\x00\x01\0\0\0\0\0\0", 10));
  }
  auto with_password = socks();
  with_password.send("\x05\x01\x02");
  EXPECT_EQ(with_password.all(), "\x05\xff");
  auto not_socks = socks();
  not_socks.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(not_socks.all(), "");
  using entry = net::network_event;
  EXPECT_EQ(report(), (std::vector<entry>{{"SOCKS4", 0, "deny", "protocol"},
                                          {"0.0.0.0", 53, "deny", "protocol"},
                                          {"SOCKS", 0, "deny", "protocol"}}));
  EXPECT_TRUE(becomes_idle());
}

TEST_F(SandboxNetworkPolicy, ALocalPortReachesThatPortOfTheHostAndNothingElse) {
  server on_v4(host->in([] { return listen_on("127.0.0.1", 11434); }),
               [](peer& p) { p.send("four"); });
  server on_v6(host->in([] { return listen_on("::1", 5432); }), [](peer& p) { p.send("six"); });
  start({});
  auto a = listen_on("127.0.0.1", 11434), b = listen_on("::1", 11434),
       c = listen_on("127.0.0.1", 5432);
  on_loop([&] {
    ASSERT_TRUE(gateway->listen_local(std::move(a), 11434));
    ASSERT_TRUE(gateway->listen_local(std::move(b), 11434));
    ASSERT_TRUE(gateway->listen_local(std::move(c), 5432));
  });
  EXPECT_EQ(connect_to("127.0.0.1", 11434).all(), "four");
  EXPECT_EQ(connect_to("::1", 11434).all(), "four");
  EXPECT_EQ(connect_to("127.0.0.1", 5432).all(), "six"); // nothing on 127.0.0.1, so ::1
  EXPECT_THROW(connect_to("127.0.0.1", 22), std::runtime_error);
  ASSERT_EQ(report().size(), 2u);
  EXPECT_EQ(report()[0].source, "allowedLocalPorts");
}

TEST_F(SandboxNetworkPolicy, WhatIsNotAListenerIsNotAccepted) {
  start({});
  on_loop([&] {
    ipc::unique_fd connected(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_FALSE(gateway->listen_http(std::move(connected)));
    EXPECT_FALSE(gateway->listen_http(ipc::unique_fd(::open("/dev/null", O_RDONLY))));
  });
}

TEST_F(SandboxNetworkPolicy, ConnectionsOverTheBoundAreResetNotHung) {
  options.connections = 8;
  start({});
  std::vector<peer> held;
  for (int i = 0; i < 8; ++i)
    held.push_back(http());
  while (connections() < 8)
    std::this_thread::yield();
  auto ninth = http();
  EXPECT_EQ(ninth.some(), "");
  EXPECT_NE(ninth.last_error(), EAGAIN);
  held.pop_back();
  while (connections() == 8)
    std::this_thread::yield();
  EXPECT_TRUE(has(connect_answer("127.0.0.1:1"), "403"));
}

} // namespace
