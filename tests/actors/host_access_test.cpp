// Commands that run on the host once somebody has approved exactly them.
#include "tests/actors/orchestrator_fixture.hpp"

namespace piorch::actors {
namespace {

class ActorsHostAccess : public ActorsOrchestrator {};

TEST_F(ActorsHostAccess, APrefixRunsOnTheHostOnceApproved) {
  auto& c = connect_with_host_access();
  auto p = command("x");
  p.command = "docker ps; id";
  ask(c, 1, p);
  EXPECT_TRUE(brokers.empty()) << "nothing runs before the answer";
  const json asked = take(c);
  EXPECT_EQ(asked["method"], "approval.request");
  EXPECT_EQ(asked["params"]["surface"], "host-ipc");
  EXPECT_EQ(asked["params"]["operation"], "execute-host");
  EXPECT_EQ(asked["params"]["command"], "docker ps; id");
  EXPECT_EQ(asked["params"]["cwd"], "/w");
  EXPECT_EQ(asked["params"]["matchedPolicy"], "hostIPC.preflightCommandPrefixes: docker");
  answer(c, asked, {{"action", "allow"}});
  ASSERT_EQ(brokers.size(), 1u);
  EXPECT_TRUE(brokers[0]->job.on_host);
  say(*brokers[0], frame_type::exit_report, report(3));
  end(*brokers[0]);
  const json result = take(c)["result"];
  EXPECT_EQ(result["exitCode"], 3);
  EXPECT_EQ(result["ranOnHost"], true);
}

TEST_F(ActorsHostAccess, WhatIsNotAllowedOnTheHostDoesNotRunAtAll) {
  auto& c = connect_with_host_access();
  auto p = command("x");
  p.command.reset();
  p.argv = {"docker", "run", "a b"};
  ask(c, 1, p);
  json asked = take(c);
  EXPECT_EQ(asked["params"]["command"], "docker run 'a b'");
  answer(c, asked, {{"action", "deny"}, {"reason", "not today"}});
  json no = take(c);
  EXPECT_EQ(no["error"]["code"], -32009);
  EXPECT_NE(no["error"]["message"].get<std::string>().find("not today"), std::string::npos);

  p.argv.push_back(std::string(orchestration::shown_command_bytes, 'x'));
  ask(c, 2, p);
  no = take(c);
  EXPECT_EQ(no["id"], 2) << "nobody is asked about what nobody can read";
  EXPECT_EQ(no["error"]["code"], -32009);

  ask(c, 3, command("docker"));
  EXPECT_EQ(brokers.size(), 1u);
  EXPECT_FALSE(brokers[0]->job.on_host) << "its id is no prefix";
}

TEST_F(ActorsHostAccess, AnUnusualShellIsPartOfWhatIsApproved) {
  auto& c = connect_with_host_access();
  auto p = command("x");
  p.command = "docker ps";
  p.shell = "/w/my shell";
  ask(c, 1, p);
  EXPECT_EQ(take(c)["params"]["command"], "'/w/my shell' -c 'docker ps'");
  p.id = "y";
  p.shell = "/bin/bash";
  ask(c, 2, p);
  EXPECT_EQ(take(c)["params"]["command"], "docker ps");
}

TEST_F(ActorsHostAccess, ACancelWhileSomebodyIsAskedRunsNothing) {
  auto& c = connect_with_host_access();
  auto p = command("x");
  p.command = "docker ps";
  ask(c, 1, p);
  const json asked = take(c);
  ask(c, 2, ipc::command_cancel_params{"x"});
  std::map<std::string, json> said;
  while (!c.lines.empty()) {
    json line = take(c);
    said[line.contains("method") ? "withdrawn" : line["id"].dump()] = line;
  }
  EXPECT_EQ(said["1"]["result"]["cancelled"], true);
  EXPECT_EQ(said["1"]["result"]["ranOnHost"], false);
  EXPECT_EQ(said["withdrawn"]["method"], "approval.cancelled");
  answer(c, asked, {{"action", "allow"}});
  EXPECT_TRUE(brokers.empty()) << "too late";
}

TEST_F(ActorsHostAccess, AfterASocketRefusalItRunsOnceMoreWithWhatTimeIsLeft) {
  auto& c = connect_with_host_access();
  auto p = command("x");
  p.timeout = 5000ms;
  p.input = "in";
  ask(c, 1, p);
  sandbox::exec_report first;
  first.how.exit_code = 1;
  first.duration = 2s;
  say(*brokers[0], frame_type::error_output, "connect: Operation not permitted\n");
  say(*brokers[0], frame_type::exit_report, sandbox::report_json(first));
  end(*brokers[0]);
  take(c); // its output
  const json asked = take(c);
  EXPECT_EQ(asked["params"]["surface"], "host-ipc");
  EXPECT_EQ(asked["params"]["warning"], orchestration::retry_warning);
  answer(c, asked, {{"action", "allow"}});
  EXPECT_EQ(take(c)["params"]["stream"], "stderr") << "the marker";
  ASSERT_EQ(brokers.size(), 2u);
  auto& b = *brokers[1];
  EXPECT_TRUE(b.job.on_host);
  EXPECT_EQ(b.job.time_limit, 3000ms);
  EXPECT_EQ(b.input, "in");
  // Credit is given for the second broker's own bytes only.
  say(b, frame_type::output, "hello");
  EXPECT_EQ(b.granted, 0u);
  write_all(c);
  EXPECT_EQ(b.granted, 5u);
  take(c);
  fails_at_a_socket(b);
  take(c);
  const json result = take(c)["result"];
  EXPECT_EQ(result["ranOnHost"], true) << "and not a third time";
  EXPECT_GE(result["durationMs"], 2000);
}

TEST_F(ActorsHostAccess, TheResultSaysWhichPathsWereRefused) {
  auto& c = connect();
  ask(c, 1, command("x"));
  sandbox::exec_report r;
  r.how.exit_code = 1;
  r.refused_paths = {{"/w/.git/hooks", "git hook"}};
  say(*brokers[0], frame_type::exit_report, sandbox::report_json(r));
  end(*brokers[0]);
  const json refused = take(c)["result"]["refusedPaths"];
  EXPECT_EQ(refused, json::array({{{"path", "/w/.git/hooks"}, {"rule", "git hook"}}}));
}

TEST_F(ActorsHostAccess, ARetryThatIsDeniedLeavesTheFirstResult) {
  auto& c = connect_with_host_access();
  ask(c, 1, command("x"));
  fails_at_a_socket(*brokers[0]);
  take(c);
  answer(c, take(c), {{"action", "deny"}});
  EXPECT_EQ(take(c)["params"]["stream"], "stderr") << "why not";
  const json result = take(c)["result"];
  EXPECT_EQ(result["exitCode"], 1);
  EXPECT_EQ(result["ranOnHost"], false);
  EXPECT_EQ(brokers.size(), 1u);
}

TEST_F(ActorsHostAccess, NothingIsRetriedThatDidNotFailAtASocketByItself) {
  auto& c = connect_with_host_access();
  const auto ends_with = [&](const sandbox::exec_report& r, const char* said) {
    ask(c, 1, command("x"));
    say(*brokers.back(), frame_type::error_output, said);
    say(*brokers.back(), frame_type::exit_report, sandbox::report_json(r));
    end(*brokers.back());
    take(c);
    return take(c).contains("result");
  };
  const char* refused = "socket: Operation not permitted\n";
  sandbox::exec_report r;
  r.how.exit_code = 0;
  EXPECT_TRUE(ends_with(r, refused)) << "it succeeded";
  r.how.exit_code = 1;
  EXPECT_TRUE(ends_with(r, "no such file\n"));
  r.how.exit_code = 124;
  r.how.timed_out = true;
  EXPECT_TRUE(ends_with(r, refused));
  r.how = {};
  r.how.exit_code = 137;
  r.how.signal = 9;
  EXPECT_TRUE(ends_with(r, refused));
  settings.host_ipc.mode = piorch::config::host_ipc_mode::off;
  r.how = {};
  r.how.exit_code = 1;
  EXPECT_TRUE(ends_with(r, refused));
}

} // namespace
} // namespace piorch::actors
