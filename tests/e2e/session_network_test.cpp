// A worker whose model is somewhere in the network: it goes through the proxy of its
// sandbox like everything else, and what is not allowed is asked for or told.
#include "tests/e2e/session_network.hpp"

namespace piorch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SessionNetwork : public test::session_network {
protected:
  // The next message with this method, or the answer to request `id`.
  static json next(ipc::client& c, const std::string& method) {
    for (;;) {
      auto in = c.receive(ipc::client::clock::now() + 60s);
      if (!in || in->what != ipc::client::incoming::kind::message) {
        ADD_FAILURE() << "no " << method;
        return {};
      }
      if (in->message.method == method) {
        request_id = in->message.id;
        return in->message.params;
      }
    }
  }
  static json answer_to(ipc::client& c, long long id) {
    for (;;) {
      auto in = c.receive(ipc::client::clock::now() + 60s);
      if (!in || in->what != ipc::client::incoming::kind::message) {
        ADD_FAILURE() << "no answer";
        return {};
      }
      if (auto answer = ipc::client::answer_to(id, in->message)) {
        EXPECT_TRUE(*answer) << answer->failed().text;
        return *answer ? **answer : json();
      }
    }
  }

  static inline ipc::rpc_id request_id;
};

TEST_F(SessionNetwork, TheProviderIsReachedThroughTheProxyWhereItIsAllowed) {
  allow({provider});
  const auto how = rig->run({"start", "#bash echo from afar"});
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_EQ(how.out, "from afar\n");
}

TEST_F(SessionNetwork, AProviderThatIsNotAllowedIsNamedWithTheRemedy) {
  const auto how = rig->run({"start", "#plain x"});
  EXPECT_EQ(how.status, 1);
  EXPECT_EQ(how.out, "");
  EXPECT_NE(how.err.find("provider scripted at " + provider), std::string::npos) << how.err;
  EXPECT_NE(how.err.find("\"allowedDomains\": [\"" + provider + "\"]"), std::string::npos)
      << how.err;
  EXPECT_TRUE(rig->pi.requests().empty());
  for (const auto& question : dns->log())
    EXPECT_EQ(question.find("model"), std::string::npos) << "a look-up is a leak, too";
}

TEST_F(SessionNetwork, AProviderThatIsAllowedAndDownIsNamed) {
  allow({"down.example.org"});
  const auto file = rig->pi.agent_directory() / "models.json";
  auto models = json::parse(test::read_file(file));
  models["providers"]["scripted"]["baseUrl"] = "http://down.example.org:8080/v1";
  std::ofstream(file) << models;
  const auto how = rig->run({"start", "#plain x"});
  EXPECT_EQ(how.status, 1);
  EXPECT_NE(how.err.find("down.example.org:8080"), std::string::npos) << how.err;
}

TEST_F(SessionNetwork, WhatAWorkerMayNotReachIsAskedForWithItsSession) {
  allow({provider});
  pid_t pid = -1;
  auto c = rig->connect_private(pid, true);
  ipc::session_start_params start;
  start.task = "#plain ready";
  start.cwd = rig->workspace();
  start.name = "asker";
  start.background = true;
  const auto id = answer_to(c, c.request(start))["session"]["id"].get<std::string>();

  ipc::session_follow_up_params ask;
  ask.session_id = id;
  ask.task = "#bash curl -sS http://www.example.org/";
  for (const bool yes : {true, false}) {
    const auto run = c.request(ask);
    const auto question = next(c, ipc::approval_request_method);
    EXPECT_EQ(question["sessionId"], id);
    EXPECT_EQ(question["agentName"], "asker");
    EXPECT_EQ(question["destination"], "www.example.org:80");
    EXPECT_EQ(question["surface"], "network");
    c.answer(request_id, {{"action", yes ? "allow" : "deny"}, {"reason", "not today"}});
    const auto text = answer_to(c, run)["text"].get<std::string>();
    EXPECT_EQ(text.find("public") != std::string::npos, yes) << text;
    EXPECT_EQ(text.find("not today") == std::string::npos, yes) << text;
  }
  // A session that is stopped takes its question along.
  ask.task = "#bash sleep 0; curl -sS http://other.example.org/";
  c.request(ask);
  const auto question = next(c, ipc::approval_request_method);
  c.request(ipc::session_stop_params{id, false});
  EXPECT_EQ(next(c, ipc::approval_cancelled_method)["id"], question["id"]);
  EXPECT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  ::waitpid(pid, nullptr, 0);
}

} // namespace
} // namespace piorch
