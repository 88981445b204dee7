#include "orchestration/refusals.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace piorch::orchestration {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Refusals : public testing::Test {
protected:
  Refusals() {
    for (const char* p : {"*.tracker.example.org"})
      settings.network.denied_domains.push_back(
          *config::parse_pattern(p, config::domain_list::denied));
    for (const char* p : {"inner.example.org", "tracker.example.org"})
      settings.network.allowed_domains.push_back(
          *config::parse_pattern(p, config::domain_list::allowed));
  }
  static json connection(const char* host, int port, const char* source,
                         const char* decision = "deny") {
    return {{"host", host}, {"port", port}, {"decision", decision}, {"source", source}};
  }
  static json event(const char* type, json fact) {
    return {{"seq", 1},
            {"time", "2026-01-01T00:00:00.000Z"},
            {"event", {{"type", type}, {"fact", std::move(fact)}}}};
  }
  // What is said about one connection.
  refusal one(const char* host, int port, const char* source) {
    refusals r(settings, "/home/u/config.json");
    r.take_event(event("network", connection(host, port, source)));
    EXPECT_EQ(r.all().size(), 1u);
    return r.all().empty() ? refusal() : r.all()[0];
  }

  config::settings settings;
};

TEST_F(Refusals, TheLineThatIsShownAllowsTheConnection) {
  for (const char* source : {"noApprover", "approval", "approvalTimeout", "earlierDenial",
                             "terminal", "address", "my-editor"}) {
    const auto r = one("example.org", 443, source);
    EXPECT_EQ(r.setting, "\"network\": {\"allowedDomains\":[\"example.org:443\"]}") << source;
    EXPECT_THAT(r.remedy, HasSubstr("/home/u/config.json"));
    const auto then = config::parse_settings("{" + r.setting + "}", "f");
    ASSERT_TRUE(then) << then.failed().text;
    EXPECT_TRUE(config::find_match(then->network.allowed_domains, "example.org", 443));
  }
  const auto local = one("localhost", 5432, "hostName");
  EXPECT_EQ(local.setting, "\"network\": {\"allowedLocalPorts\":[5432]}");
  const auto then = config::parse_settings("{" + local.setting + "}", "f");
  ASSERT_TRUE(then) << then.failed().text;
  EXPECT_THAT(then->network.allowed_local_ports, testing::ElementsAre(5432));
}

TEST_F(Refusals, WhyItWasDeniedIsWhatHappened) {
  const auto reason = [&](const char* source) { return one("example.org", 443, source).reason; };
  EXPECT_THAT(reason("noApprover"), HasSubstr("nobody could be asked"));
  EXPECT_THAT(reason("tooManyRequests"), HasSubstr("as many requests as may wait"));
  EXPECT_THAT(reason("approverLeft"), HasSubstr("whoever was asked left"));
}

TEST_F(Refusals, WhereNoLineAllowsItNoneIsShown) {
  EXPECT_EQ(one("192.0.2.7", 80, "hostName").setting, "");
  EXPECT_EQ(one("inner.example.org", 80, "address").setting, ""); // allowed, and loopback
  EXPECT_EQ(one("a b\"c", 80, "noApprover").setting, "");
  const auto protocol = one("example.org", 53, "protocol"); // a SOCKS command other than CONNECT
  EXPECT_EQ(protocol.setting, "");
  EXPECT_THAT(protocol.reason, HasSubstr("no request that the proxy takes"));
}

TEST_F(Refusals, ADeniedPatternIsNamed) {
  const auto r = one("a.tracker.example.org", 443, "deniedDomains");
  EXPECT_THAT(r.reason, HasSubstr("\"*.tracker.example.org\" of network.deniedDomains"));
  EXPECT_THAT(r.remedy, HasSubstr("take \"*.tracker.example.org\" out of network.deniedDomains"));
  EXPECT_EQ(r.setting, "");
  // It came from --deny-domain, or was taken out since.
  EXPECT_THAT(one("other.example.org", 1, "deniedDomains").reason, HasSubstr("--deny-domain"));
  // Denied by now, whatever it was then: to allow it alone would not help.
  EXPECT_THAT(one("a.tracker.example.org", 443, "noApprover").remedy, HasSubstr("out of"));
}

TEST_F(Refusals, WhatIsAllowedByNowIsSaid) {
  EXPECT_THAT(one("tracker.example.org", 443, "noApprover").remedy, HasSubstr("by now"));
}

TEST_F(Refusals, EachOnceWithItsCountAndNothingThatWasAllowed) {
  refusals r(settings, "f");
  for (int i = 0; i < 3; ++i)
    r.take_event(event("network", connection("x.example.org", 1, "noApprover")));
  r.take_event(event("network", connection("x.example.org", 2, "allowedDomains", "allow")));
  r.take_event(event("refusedFile", {{"path", "/w/.git/hooks/a"}, {"rule", "git hook"}}));
  ASSERT_EQ(r.all().size(), 2u);
  const auto text = refusals_text(r, "session x");
  EXPECT_THAT(text, HasSubstr("network  x.example.org:1  (3 times)\n"));
  EXPECT_THAT(text, HasSubstr("file  /w/.git/hooks/a\n"));
  EXPECT_THAT(text, HasSubstr("(git hook)"));
  const auto j = refusals_json(r);
  EXPECT_EQ(j["refusals"][0]["count"], 3);
  EXPECT_EQ(j["refusals"][0]["time"], "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(j["refusals"][1]["setting"], nullptr);
}

TEST_F(Refusals, AReportOfACommand) {
  refusals r(settings, "f");
  r.take_report(
      {{"network", json::array({connection("x.example.org", 1, "noApprover")})},
       {"refusedPaths", json::array({{{"path", "/w/.git"}, {"rule", "protected path"}}})}});
  EXPECT_EQ(r.all().size(), 2u);
  r.take_report(json::array());
  r.take_report({{"network", 7}, {"refusedPaths", "x"}});
  EXPECT_EQ(r.all().size(), 2u);
}

TEST_F(Refusals, IsBoundedAndSaysWhatItLacks) {
  refusals r(settings, "f");
  for (int i = 0; i < 600; ++i)
    r.take_event(event("refusedFile", {{"path", std::to_string(i)}, {"rule", "git hook"}}));
  r.take_event({{"seq", 9}, {"event", {{"type", "gap"}, {"from", 2}, {"to", 9}}}});
  EXPECT_EQ(r.all().size(), 500u);
  EXPECT_THAT(refusals_text(r, "s"), HasSubstr("and 100 more\n8 events of it were not kept"));
}

TEST_F(Refusals, NothingWasRefused) {
  EXPECT_THAT(refusals_text(refusals(settings, "f"), "session x"),
              HasSubstr("nothing was refused to session x "));
}

TEST_F(Refusals, AHostileNameDrivesNoTerminal) {
  refusals r(settings, "f");
  r.take_event(event("refusedFile", {{"path", "a\x1b[2J\nnetwork  faked"}, {"rule", "x\x07"}}));
  const auto text = refusals_text(r, "s");
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_THAT(text, Not(HasSubstr("\nnetwork  faked")));
}

} // namespace
} // namespace piorch::orchestration
