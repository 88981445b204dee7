// Which addresses of an allowed or approved name are dialled, and what a name server can do.
#include "tests/sandbox/network_policy.hpp"

namespace {

using namespace piorch;
using namespace piorch::test;

TEST_F(SandboxNetworkPolicy, ARebindingNameNeverReachesAForbiddenAddress) {
  std::atomic<int> reached{0};
  auto forbidden = [&](peer& p) {
    ++reached;
    p.send("secret");
  };
  serve("169.254.169.254", 80, forbidden);
  serve("10.1.2.3", 80, forbidden);
  server own(host->in([] { return listen_on("192.0.2.1", 80); }), forbidden);
  server loopback(host->in([] { return listen_on("127.0.0.1", 80); }), forbidden);
  serve(web, 80, [](peer& p) { p.send("public"); });
  // Public at the first look-up, something else at every later one.
  for (auto bad : {"127.0.0.1", "169.254.169.254", "192.0.2.1", "::1", "::ffff:127.0.0.1",
                   "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "0.0.0.0", "fe80::1"}) {
    const std::string name = "rebind" + std::to_string(asked.size()) + ".example.org";
    asked.push_back(name);
    dns->set(name, {{"192.0.2.80"}, {bad}});
  }
  const auto names = asked;
  asked.clear();
  answer_with([](auto&) { return net::ask_answer{true, "approval", ""}; });
  start({"rebind0.example.org", "rebind1.example.org", "rebind2.example.org"});
  for (const auto& name : names) {
    auto first = http();
    ASSERT_TRUE(tunnel(first, name + ":80")) << name;
    EXPECT_EQ(first.exactly(6), "public") << name;
    EXPECT_EQ(dns->asked_for(name), 1u) << "resolved once, " << name;
    EXPECT_TRUE(has(connect_answer(name + ":80"), "never dialled")) << name;
  }
  EXPECT_EQ(reached, 0);
}

TEST_F(SandboxNetworkPolicy, ForbiddenAddressesAmongGoodOnesAreLeftOut) {
  dns->set("mixed.example.org", {{"127.0.0.1", "169.254.169.254", "192.0.2.80", "::1"}});
  std::atomic<int> reached{0};
  server loopback(host->in([] { return listen_on("127.0.0.1", 80); }), [&](peer&) { ++reached; });
  serve(web, 80, [](peer& p) { p.send("public"); });
  start({"mixed.example.org"});
  for (int i = 0; i < 5; ++i) {
    auto p = http();
    ASSERT_TRUE(tunnel(p, "mixed.example.org:80"));
    EXPECT_EQ(p.exactly(6), "public");
  }
  EXPECT_EQ(reached, 0);
}

TEST_F(SandboxNetworkPolicy, PrivateRangesOnlyForAStaticallyAllowedName) {
  dns->set("git.example.org", {{"10.1.2.3", "fd00::80"}});
  dns->set("other.example.org", {{"10.1.2.3"}});
  serve("10.1.2.3", 80, [](peer& p) { p.send("intranet"); });
  answer_with([](auto&) { return net::ask_answer{true, "approval", ""}; });
  start({"git.example.org"});
  auto p = http();
  ASSERT_TRUE(tunnel(p, "git.example.org:80"));
  EXPECT_EQ(p.exactly(8), "intranet");
  const auto reviewed = connect_answer("other.example.org:80");
  EXPECT_TRUE(has(reviewed, "private address, which is dialled only for a host in allowedDomains"))
      << reviewed;
  EXPECT_EQ(report().back().source, "address");
}

TEST_F(SandboxNetworkPolicy, ANameInTheHostsFileIsJudgedByItsAddress) {
  start({"mapped.example.org"});
  EXPECT_TRUE(has(connect_answer("mapped.example.org:80"), "loopback"));
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(SandboxNetworkPolicy, IPv6) {
  dns->set("six.example.org", {{"2001:db8::80"}});
  serve("2001:db8::80", 443, echo);
  start({"six.example.org"});
  auto p = http();
  ASSERT_TRUE(tunnel(p, "six.example.org:443"));
  p.send("six");
  EXPECT_EQ(p.exactly(3), "six");
}

TEST_F(SandboxNetworkPolicy, AnUnreachableAddressDoesNotHideAReachableOne) {
  dns->set("both.example.org", {{"2001:db8::80", "192.0.2.80"}});
  serve(web, 443, echo); // nobody listens on IPv6
  start({"both.example.org", "black-hole.example.org"});
  auto p = http();
  EXPECT_TRUE(tunnel(p, "both.example.org:443"));
  dns->set("black-hole.example.org", {{"198.51.100.99", "192.0.2.80"}});
  outside->ip("route add blackhole 198.51.100.99/32"); // no answer at all
  auto q = http();
  EXPECT_TRUE(tunnel(q, "black-hole.example.org:443"));
}

TEST_F(SandboxNetworkPolicy, FailuresHaveTheirOwnWords) {
  dns->set("closed.example.org", {{"192.0.2.80"}});
  start({"*.example.org"});
  const auto closed = connect_answer("closed.example.org:1");
  EXPECT_TRUE(has(closed, "502")) << closed;
  EXPECT_TRUE(has(closed, "refused the connection")) << closed;
  const auto missing = connect_answer("missing.example.org:1");
  EXPECT_TRUE(has(missing, "no address")) << missing;
  auto a = socks(), b = socks();
  EXPECT_EQ(socks_code(a, "closed.example.org", 1), 5);
  EXPECT_EQ(socks_code(b, "missing.example.org", 1), 4);
}

TEST_F(SandboxNetworkPolicy, AHungNameServerHangsNobodyElse) {
  dns->set("fast.example.org", {{"192.0.2.80"}}, 60);
  serve(web, 443, echo);
  start({"*.example.org"});
  auto first = http();
  ASSERT_TRUE(tunnel(first, "fast.example.org:443")); // kept for its TTL
  dns->behave(name_server::mode::silent);
  std::vector<peer> hung;
  for (int i = 0; i < 100; ++i) {
    hung.push_back(http());
    const auto target = "slow" + std::to_string(i) + ".example.org:443";
    hung.back().send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
  }
  const auto began = std::chrono::steady_clock::now();
  auto p = http();
  EXPECT_TRUE(tunnel(p, "fast.example.org:443"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
  on_loop([&] { gateway.reset(); }); // and the end waits for none of them
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
}

TEST_F(SandboxNetworkPolicy, ASilentNameServerEndsInAReason) {
  dns->behave(name_server::mode::silent);
  start({"*.example.org"});
  const auto text = connect_answer("www.example.org:443"); // two attempts of one second
  EXPECT_TRUE(has(text, "no name server answered")) << text;
}

TEST_F(SandboxNetworkPolicy, ACutAnswerIsAskedForAgainOverTcp) {
  dns->set("big.example.org", {{"192.0.2.80"}});
  dns->behave(name_server::mode::truncates);
  serve(web, 443, echo);
  start({"*.example.org"});
  auto p = http();
  EXPECT_TRUE(tunnel(p, "big.example.org:443"));
}

} // namespace
