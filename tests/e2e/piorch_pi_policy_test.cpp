// The supervisor's word to piorch-pi: whether a worker runs, and whom it may connect to.
#include "tests/e2e/piorch_pi_fixture.hpp"

namespace piorch::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class E2ePiorchPiPolicy : public testing::Test {
protected:
  static std::string connect_to(const std::string& host) {
    return "exec 3<>/dev/tcp/127.0.0.1/41080; printf 'CONNECT " + host +
           ":443 HTTP/1.1\\r\\nHost: " + host + ":443\\r\\n\\r\\n' >&3; cat <&3";
  }
  static json reply(const json& frame, const json& network) {
    json out = fake_supervisor::allow(frame);
    if (frame["type"] == "register")
      out["network"] = network;
    return out;
  }
};

TEST_F(E2ePiorchPiPolicy, ADeniedRegistrationIsItsReasonAndStatusOne) {
  worker_rig rig([](const json& f) {
    return json{{"id", f["id"]}, {"action", "deny"}, {"reason", "not\nthere"}};
  });
  const auto done = run(rig.worker("echo ran"));
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("refused the registration: not"));
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1);
}

TEST_F(E2ePiorchPiPolicy, ANestedWorkerThatIsOneTooManyIsRefused) {
  worker_rig rig([](const json& f) {
    return f.contains("parent") ? json{{"id", f["id"]}, {"action", "deny"}, {"reason", "too many"}}
                                : fake_supervisor::allow(f);
  });
  const auto done = run(rig.worker(
      "if [ -z \"$NESTED\" ]; then NESTED=1 exec \"$PI_SUBAGENT_PI_BINARY\"; fi; echo ran"));
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("may not start another one: too many"));
}

TEST_F(E2ePiorchPiPolicy, GarbageForAnAnswerIsARefusal) {
  for (const char* answer : {"garbage\n", "{}\n", "{\"id\":\"other\",\"action\":\"allow\"}\n"}) {
    worker_rig rig([answer](const json&) { return json(answer); });
    const auto done = run(rig.worker("echo ran"));
    EXPECT_EQ(done.status, 1) << answer;
    EXPECT_EQ(done.out, "");
  }
}

TEST_F(E2ePiorchPiPolicy, WhatNoRuleDecidesIsAskedWithHostAndPort) {
  worker_rig rig([](const json& f) {
    return f["type"] == "network"
               ? json{{"id", f["id"]}, {"action", "deny"}, {"reason", "said the supervisor"}}
               : fake_supervisor::allow(f);
  });
  const auto done = run(rig.worker(connect_to("host.example.org")));
  EXPECT_THAT(done.out, HasSubstr("403"));
  EXPECT_THAT(done.out, HasSubstr("said the supervisor"));
  const auto asked = rig.supervisor.frame("network");
  EXPECT_EQ(asked["hostname"], "host.example.org");
  EXPECT_EQ(asked["port"], 443);
}

TEST_F(E2ePiorchPiPolicy, ADeniedDomainIsNotAsked) {
  worker_rig rig([](const json& f) {
    return reply(f, {{"allowedDomains", json::array()}, {"deniedDomains", {"*.example.org"}}});
  });
  EXPECT_THAT(run(rig.worker(connect_to("host.example.org"))).out, HasSubstr("403"));
  EXPECT_EQ(rig.supervisor.frame("network", milliseconds(0)), json());
}

TEST_F(E2ePiorchPiPolicy, AMalformedPolicyDeniesEverything) {
  for (const json& network :
       {json(), json{{"allowedDomains", {"*"}}, {"deniedDomains", json::array()}}}) {
    worker_rig rig([network](const json& f) { return reply(f, network); });
    rig.w.configure("{\"network\": {\"allowedDomains\": [\"host.example.org\"], "
                    "\"allowedLocalPorts\": [54321]}}");
    const auto done = run(
        rig.worker("(exec 3<>/dev/tcp/127.0.0.1/54321) 2>&1; " + connect_to("host.example.org")));
    EXPECT_THAT(done.out, HasSubstr("403")) << network;
    EXPECT_THAT(done.out, HasSubstr("refused")) << network; // no port of this machine
    EXPECT_EQ(rig.supervisor.frame("network", milliseconds(0)), json());
  }
}

} // namespace
} // namespace piorch::test
