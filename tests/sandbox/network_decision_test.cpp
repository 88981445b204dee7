#include "sandbox/network/decision.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/report.hpp"

#include <gtest/gtest.h>

namespace {

using namespace piorch;
using namespace piorch::sandbox::network;
using namespace std::chrono_literals;

rule_list list(std::initializer_list<const char*> patterns, config::domain_list which,
               std::string origin) {
  rule_list out;
  out.origin = std::move(origin);
  for (auto p : patterns) {
    auto parsed = config::parse_pattern(p, which);
    EXPECT_TRUE(parsed) << p;
    out.patterns.push_back(*parsed);
  }
  return out;
}

rule_set rules_of(std::initializer_list<const char*> allowed,
                  std::initializer_list<const char*> denied) {
  rule_set r;
  r.allowed.push_back(list(allowed, config::domain_list::allowed, "network.allowedDomains"));
  r.denied.push_back(list(denied, config::domain_list::denied, "network.deniedDomains"));
  return r;
}

const decisions::clock::time_point now{};

verdict judged(decisions& d, const char* host, std::uint16_t port = 443) {
  return d.judge({host, port}, now).what;
}

TEST(SandboxNetworkDecision, NothingConfiguredMeansAsk) {
  decisions d({});
  EXPECT_EQ(judged(d, "example.org"), verdict::ask);
}

TEST(SandboxNetworkDecision, DeniedWinsOverAllowedWhateverIsMoreExact) {
  decisions d(rules_of({"example.org", "a.example.org:443"}, {"*.example.org"}));
  EXPECT_EQ(judged(d, "example.org"), verdict::allow);
  EXPECT_EQ(judged(d, "a.example.org"), verdict::deny);
  decisions all(rules_of({"example.org"}, {"*"}));
  EXPECT_EQ(judged(all, "example.org"), verdict::deny);
}

TEST(SandboxNetworkDecision, Patterns) {
  decisions d(rules_of({"example.org", "*.example.net", "api.example.com:8443"}, {"*:25"}));
  EXPECT_EQ(judged(d, "example.org"), verdict::allow);
  EXPECT_EQ(judged(d, "example.org", 8080), verdict::allow);
  EXPECT_EQ(judged(d, "example.org", 25), verdict::deny);
  EXPECT_EQ(judged(d, "www.example.org"), verdict::ask);
  EXPECT_EQ(judged(d, "example.net"), verdict::ask);
  EXPECT_EQ(judged(d, "a.example.net"), verdict::allow);
  EXPECT_EQ(judged(d, "a.b.example.net"), verdict::allow);
  EXPECT_EQ(judged(d, "badexample.net"), verdict::ask);
  EXPECT_EQ(judged(d, "example.net.evil.org"), verdict::ask);
  EXPECT_EQ(judged(d, "api.example.com", 8443), verdict::allow);
  EXPECT_EQ(judged(d, "api.example.com", 443), verdict::ask);
}

TEST(SandboxNetworkDecision, ADenialNamesTheRuleAndItsOrigin) {
  decisions d(rules_of({}, {"*.example.org:443"}));
  auto out = d.judge({"a.example.org", 443}, now);
  EXPECT_EQ(out.source, source::denied_list);
  EXPECT_NE(out.reason.find("\"*.example.org:443\""), std::string::npos);
  EXPECT_NE(out.reason.find("network.deniedDomains"), std::string::npos);
}

TEST(SandboxNetworkDecision, TheRemedyIsALineThatCanBeCopied) {
  rule_set r;
  r.trusted_file = "/home/u/config.json";
  const auto text = remedy_for({"example.org", 443}, r);
  EXPECT_NE(text.find("\"network\": {\"allowedDomains\": [\"example.org\"]}"), std::string::npos);
  EXPECT_NE(text.find("/home/u/config.json"), std::string::npos);
  EXPECT_NE(text.find("--allow-domain example.org"), std::string::npos);
}

TEST(SandboxNetworkDecision, ADenialIsRememberedForThatHostAndPortAndNotForLong) {
  decisions d({});
  d.remember_denial({"example.org", 443}, source::approval, "it was denied", now);
  auto again = d.judge({"example.org", 443}, now + 59s);
  EXPECT_EQ(again.what, verdict::deny);
  EXPECT_EQ(again.source, source::remembered);
  EXPECT_EQ(d.judge({"example.org", 80}, now).what, verdict::ask);
  EXPECT_EQ(d.judge({"www.example.org", 443}, now).what, verdict::ask);
  EXPECT_EQ(d.judge({"example.org", 443}, now + 60s).what, verdict::ask);
  EXPECT_EQ(d.remembered(), 0u);
}

TEST(SandboxNetworkDecision, ARuleWinsOverARememberedDenial) {
  decisions d(rules_of({"example.org"}, {}));
  d.remember_denial({"example.org", 443}, source::approval, "it was denied", now);
  EXPECT_EQ(judged(d, "example.org"), verdict::allow);
}

TEST(SandboxNetworkDecision, RememberedDenialsAreBounded) {
  decisions d({});
  for (std::size_t i = 0; i < 3 * limits::remembered_denials; ++i)
    d.remember_denial({"h" + std::to_string(i) + ".example.org", 443}, source::approval, "no",
                      now + std::chrono::milliseconds(i));
  EXPECT_EQ(d.remembered(), limits::remembered_denials);
  const auto last = "h" + std::to_string(3 * limits::remembered_denials - 1) + ".example.org";
  EXPECT_EQ(judged(d, last.c_str()), verdict::deny); // the oldest went, not the newest
}

TEST(SandboxNetworkReport, DistinctEventsInOrderAndBounded) {
  network_report r;
  EXPECT_TRUE(r.add({"a.example.org", 443, "allow", source::allowed_list}));
  EXPECT_TRUE(r.add({"a.example.org", 443, "deny", source::approval}));
  EXPECT_FALSE(r.add({"a.example.org", 443, "allow", source::allowed_list}));
  ASSERT_EQ(r.events().size(), 2u);
  EXPECT_EQ(r.events()[1].decision, "deny");
  for (std::size_t i = 0; i < limits::network_events; ++i)
    r.add({"h" + std::to_string(i) + ".example.org", 1, "deny", source::denied_list});
  EXPECT_EQ(r.events().size(), limits::network_events);
  EXPECT_EQ(r.dropped(), 2u);
}

} // namespace
