// Commands of clients from their request to their end.
#include "tests/actors/orchestrator_fixture.hpp"

namespace piorch::actors {
namespace {

TEST_F(ActorsOrchestrator, AnswersACommandOnlyWhenItsBrokerIsGone) {
  auto& c = connect();
  auto p = command("x");
  p.timeout = 1500ms;
  p.input = "in";
  ask(c, 1, p);
  ASSERT_EQ(brokers.size(), 1u);
  auto& b = *brokers[0];
  EXPECT_EQ(b.job.arguments.back(), "make");
  EXPECT_EQ(b.job.time_limit, 1500ms);
  EXPECT_EQ(b.input, "in");
  EXPECT_TRUE(b.input_closed);
  say(b, frame_type::exit_report, report(7));
  EXPECT_TRUE(c.lines.empty()) << "its tree may still be there";
  end(b);
  const json answer = take(c);
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["result"]["exitCode"], 7);
}

TEST_F(ActorsOrchestrator, GrantsOutputOnlyWhenTheClientHasIt) {
  auto& c = connect();
  ask(c, 1, command("x"));
  write_all(c);
  say(*brokers[0], frame_type::output, "hello");
  say(*brokers[0], frame_type::error_output, "err");
  EXPECT_EQ(take(c)["params"], json({{"id", "x"}, {"stream", "stdout"}, {"data", "aGVsbG8="}}));
  EXPECT_EQ(take(c)["params"]["stream"], "stderr");
  EXPECT_EQ(brokers[0]->granted, 0u);
  write_all(c);
  EXPECT_EQ(brokers[0]->granted, 8u);
}

TEST_F(ActorsOrchestrator, CancelStopsTheBrokerAndKillsOneThatHangs) {
  auto& c = connect();
  ask(c, 1, command("x"));
  ask(c, 2, ipc::command_cancel_params{"x"});
  EXPECT_EQ(take(c)["id"], 2);
  EXPECT_EQ(brokers[0]->frames, std::vector<frame_type>{frame_type::stop});
  EXPECT_FALSE(brokers[0]->killed);
  advance(1s);
  EXPECT_TRUE(brokers[0]->killed);
  end(*brokers[0], "killed by signal 9");
  const json answer = take(c);
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["result"]["cancelled"], true);
}

TEST_F(ActorsOrchestrator, ALostBrokerIsAnErrorAndNoResult) {
  auto& c = connect();
  ask(c, 1, command("x"));
  end(*brokers[0], "killed by signal 9");
  const json answer = take(c);
  EXPECT_EQ(answer["error"]["code"], -32603);
  EXPECT_NE(answer["error"]["message"].get<std::string>().find("killed by signal 9"),
            std::string::npos);
}

TEST_F(ActorsOrchestrator, PassesOnWhyABrokerCouldNotRunIt) {
  auto& c = connect();
  ask(c, 1, command("x"));
  say(*brokers[0], frame_type::failed,
      sandbox::failure_text({failure::configuration_invalid, "config.json: x"}));
  end(*brokers[0]);
  const json answer = take(c);
  EXPECT_EQ(answer["error"]["code"], -32006);
  EXPECT_EQ(answer["error"]["message"], "config.json: x");
}

TEST_F(ActorsOrchestrator, RunsCommandsSideBySideAndRefusesAnIdTwice) {
  auto& c = connect();
  ask(c, 1, command("a"));
  ask(c, 2, command("b"));
  ask(c, 3, command("a"));
  EXPECT_EQ(take(c)["error"]["code"], -32602);
  ASSERT_EQ(brokers.size(), 2u);
  say(*brokers[1], frame_type::exit_report, report(0));
  end(*brokers[1]);
  EXPECT_EQ(take(c)["id"], 2);
  EXPECT_TRUE(c.lines.empty());
}

TEST_F(ActorsOrchestrator, AClientThatIsGoneTakesItsCommandsAlong) {
  auto& c = connect();
  ask(c, 1, command("x"));
  tell(c.actor, client_gone{});
  run();
  EXPECT_EQ(brokers[0]->frames, std::vector<frame_type>{frame_type::stop});
  EXPECT_EQ(ends, 0);
}

TEST_F(ActorsOrchestrator, RefusesMoreRequestsInFlightThanAllowed) {
  auto& c = connect();
  for (std::size_t i = 0; i < limits::client_requests; ++i)
    tell(c.actor, client_asked{ipc::rpc_id::number(static_cast<int>(i + 1)),
                               command("c" + std::to_string(i))});
  run();
  EXPECT_TRUE(c.lines.empty());
  ask(c, 99999, command("more"));
  EXPECT_EQ(take(c)["error"]["code"], -32001);
  say(*brokers[0], frame_type::exit_report, report(0));
  end(*brokers[0]);
  take(c);
  ask(c, 99999, ipc::command_cancel_params{"none"});
  EXPECT_TRUE(take(c).contains("result"));
}

TEST_F(ActorsOrchestrator, ShutdownAnswersWhenEverythingHasEnded) {
  auto& worker = connect();
  auto& c = connect();
  ask(worker, 1, command("x"));
  ask(c, 1, ipc::shutdown_params{});
  EXPECT_TRUE(c.lines.empty());
  EXPECT_EQ(ends, 0);
  end(*brokers[0]);
  EXPECT_EQ(take(c)["id"], 1);
  EXPECT_EQ(take(worker)["result"]["cancelled"], true);
  EXPECT_EQ(ends, 1);
}

TEST_F(ActorsOrchestrator, LeavesWhenNobodyWasThereForAMinute) {
  advance(59s);
  auto& c = connect();
  advance(600s);
  EXPECT_EQ(ends, 0);
  tell(c.actor, client_gone{});
  run();
  advance(59s);
  EXPECT_EQ(ends, 0);
  advance(1s);
  EXPECT_EQ(ends, 1);
}

TEST_F(ActorsOrchestrator, APrivateInstanceEndsWithItsClient) {
  auto& other = connect();
  auto& c = connect(true);
  ask(other, 1, command("x"));
  tell(c.actor, client_gone{});
  run();
  EXPECT_EQ(ends, 0);
  end(*brokers[0]);
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(other.shut);
}

} // namespace
} // namespace piorch::actors
