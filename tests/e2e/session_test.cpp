// Sessions from the command line, with real Pi: each row of the contract's section 4.
#include "tests/e2e/session_fixture.hpp"

#include <algorithm>

namespace piorch {
namespace {

using namespace std::chrono_literals;

using Session = test::session_fixture;

TEST_F(Session, ForegroundPrintsOnlyTheTextAndEndsTheSession) {
  const auto how = rig->run({"start", "#bash echo from the sandbox; cat note.txt"});
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_EQ(how.out, "from the sandbox\nthe note\n");
  EXPECT_NE(how.err.find("$ bash echo from the sandbox"), std::string::npos) << how.err;
  const auto all = rig->json({"status"});
  ASSERT_EQ(all["sessions"].size(), 1u);
  EXPECT_EQ(all["sessions"][0]["state"], "stopped");
  EXPECT_EQ(all["sessions"][0]["depth"], 1);
  EXPECT_GT(all["sessions"][0]["usage"]["cpuSeconds"], 0.0);
  EXPECT_GT(all["sessions"][0]["usage"]["peakRssBytes"], 1 << 20);
  EXPECT_TRUE(no_litter());
}

TEST_F(Session, WorkersShareAWarmCompileCacheThatTheyCannotWrite) {
  ASSERT_EQ(rig->run({"start", "#plain cold"}).out, "cold\n");
  const auto kept = [&]() -> std::string {
    std::error_code none;
    for (const auto& e :
         std::filesystem::directory_iterator(rig->root() / "state/piorch/compile-cache", none))
      if (e.path().extension() != ".new")
        return e.path();
    return {};
  };
  ASSERT_TRUE(rig->within(60s, [&] { return !kept().empty(); }));
  const auto how =
      rig->run({"start", "#bash echo \"$NODE_COMPILE_CACHE\"; touch \"$NODE_COMPILE_CACHE/x\""});
  EXPECT_NE(how.out.find(kept()), std::string::npos) << how.out;
  EXPECT_NE(how.out.find("Read-only"), std::string::npos) << how.out;
}

TEST_F(Session, TheWorkerIsBehindTheWalls) {
  std::ofstream(rig->root() / "home/secret") << "hidden";
  const auto how =
      rig->run({"start", "#bash cat ~/secret; echo x > /usr/x; ls \"$PI_CODING_AGENT_DIR\"; "
                         "echo $PIORCH_SANDBOX; touch made"});
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_EQ(how.out.find("hidden"), std::string::npos);
  EXPECT_NE(how.out.find("No such file"), std::string::npos) << how.out;
  EXPECT_NE(how.out.find("Read-only file system"), std::string::npos) << how.out;
  EXPECT_NE(how.out.find("models.json"), std::string::npos) << how.out;
  EXPECT_TRUE(std::filesystem::exists(rig->workspace() + "/made"));
}

TEST_F(Session, TheShellsCompletionKnowsSessions) {
  const auto id = start_idle("helper");
  const auto offers = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin(), {"completions", "--words", "--"});
    return ("\n" + rig->run(words).out).find("\n" + text) != std::string::npos;
  };
  EXPECT_TRUE(offers({"stop", "h"}, "helper\tidle: #plain ready"));
  EXPECT_TRUE(offers({"follow-up", ""}, id.substr(0, 8)));
  EXPECT_EQ(rig->run({"stop", id}).status, 0);
  EXPECT_FALSE(offers({"stop", "h"}, "helper"));
  EXPECT_TRUE(offers({"result", "h"}, "helper\tstopped"));
  rig->end_orchestrator(SIGTERM); // then the journal is read
  EXPECT_TRUE(offers({"result", "h"}, "helper\tstopped"));
}

TEST_F(Session, BackgroundSessionLivesOnAndTakesFollowUps) {
  const auto started = rig->run({"start", "-d", "--name", "helper", "#plain first"});
  ASSERT_EQ(started.status, 0) << started.err;
  const auto id = rig->line(started.out);
  EXPECT_EQ(rig->run({"wait", "helper"}).out, "first\n");
  EXPECT_EQ(rig->document(id)["state"], "idle");
  EXPECT_EQ(rig->run({"follow-up", id.substr(0, 12), "#plain second"}).out, "second\n");
  EXPECT_EQ(rig->run({"result", "helper"}).out, "second\n");
  EXPECT_EQ(rig->run({"stop", "helper"}).status, 0);
  const auto document = rig->document(id);
  EXPECT_EQ(document["state"], "stopped");
  EXPECT_TRUE(document.contains("endedAt"));
  EXPECT_EQ(rig->run({"result", id}).out, "second\n");
  EXPECT_EQ(rig->run({"follow-up", id, "#plain third"}).status, 1);
  EXPECT_EQ(rig->run({"status", "nobody"}).status, 3);
}

TEST_F(Session, FollowUpWaitsItsTurnAndEachWaiterGetsItsOwnText) {
  const auto id = start_idle("busy");
  auto first = rig->start({"follow-up", id, "#delay 300 one"});
  auto second = rig->start({"follow-up", id, "#plain two"});
  auto third = rig->start({"follow-up", id, "#plain three"});
  EXPECT_EQ(first.wait().out, "one\n");
  EXPECT_EQ(second.wait().out, "two\n");
  EXPECT_EQ(third.wait().out, "three\n");
}

TEST_F(Session, HandoffGivesTheTextToAChild) {
  const auto id = start_idle("parent");
  EXPECT_EQ(rig->run({"follow-up", id, "#plain The answer is 42."}).out, "The answer is 42.\n");
  const auto child = rig->run({"handoff", "parent", "Say what you were given."});
  EXPECT_EQ(child.status, 0) << child.err;
  EXPECT_NE(child.out.find("The answer is 42."), std::string::npos) << child.out;
  EXPECT_NE(child.out.find("Say what you were given."), std::string::npos) << child.out;
  for (const auto& d : sessions())
    if (d["id"] != id) {
      EXPECT_EQ(d["parentId"], id);
      EXPECT_EQ(d["depth"], 2);
      EXPECT_EQ(d["state"], "idle"); // and can be asked again
    }
}

TEST_F(Session, TheFifthAndTheFourthLevelAreRefusedAtOnce) {
  const auto one = start_idle("one");
  const auto two = rig->line(rig->run({"handoff", "-d", "one", "#plain two"}).out);
  const auto three = rig->line(rig->run({"handoff", "-d", two, "#plain three"}).out);
  EXPECT_EQ(rig->document(three)["depth"], 3);
  const auto deep = rig->run({"handoff", "-d", three, "#plain four"});
  EXPECT_EQ(deep.status, 5);
  EXPECT_NE(deep.err.find("subagent nesting depth limit reached (3)"), std::string::npos);
  start_idle("other");
  const auto fifth = rig->run({"start", "-d", "#plain no"});
  EXPECT_EQ(fifth.status, 5);
  EXPECT_NE(fifth.err.find("subagent concurrency limit reached (4)"), std::string::npos);
  EXPECT_EQ(rig->run({"stop", "other"}).status, 0);
  EXPECT_EQ(rig->run({"start", "#plain yes"}).out, "yes\n"); // its slot is free
  EXPECT_EQ(rig->run({"stop", "--all"}).status, 0);
  for (const auto& d : sessions())
    EXPECT_EQ(d["state"], "stopped");
  EXPECT_TRUE(no_litter());
}

TEST_F(Session, AbortEndsTheRunAndKeepsTheSession) {
  const auto id = start_idle("kept");
  auto waiting = rig->start({"follow-up", id, "#bash echo begun > begun; sleep 100"});
  ASSERT_TRUE(rig->within(60s, [&] { return has_file("begun"); }));
  EXPECT_EQ(rig->run({"abort", id}).status, 0);
  const auto how = waiting.wait();
  EXPECT_EQ(how.status, 1);
  EXPECT_NE(how.err.find("aborted"), std::string::npos) << how.err;
  EXPECT_EQ(rig->document(id)["state"], "idle");
  EXPECT_EQ(rig->run({"follow-up", id, "#plain still here"}).out, "still here\n");
}

TEST_F(Session, CtrlCAbortsAndTheSessionEnds) {
  auto running = rig->start({"start", "#bash touch begun; sleep 100"});
  ASSERT_TRUE(rig->within(30s, [&] { return has_file("begun"); }));
  ::kill(running.pid(), SIGINT);
  EXPECT_EQ(running.wait().status, 130);
  ASSERT_EQ(rig->json({"status"})["sessions"].size(), 1u);
  EXPECT_TRUE(rig->within(20s, [&] { return live() == 0; }));
}

TEST_F(Session, AWrongConfigurationIsToldOnceAndLeavesNoSession) {
  rig->configure(R"({"limits": {"memory": 1}})");
  for (const char* background : {"--timeout=60", "-d"}) {
    const auto how = rig->run({"start", background, "#plain x"});
    EXPECT_EQ(how.status, 1);
    EXPECT_EQ(how.out, "");
    EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
    EXPECT_NE(how.err.find("config.json: limits.memory: unknown key"), std::string::npos)
        << how.err;
  }
  EXPECT_EQ(sessions().size(), 0u);
}

TEST_F(Session, TooLittleMemoryForAWorkerIsNamed) {
  rig->configure(R"({"limits": {"memoryMiB": 64}})");
  const auto how = rig->run({"start", "-d", "#plain x"});
  EXPECT_EQ(how.status, 1);
  EXPECT_NE(how.err.find("config.json is 64, and a worker needs about 1024\n"), std::string::npos)
      << how.err;
}

TEST_F(Session, ATimeoutIsAnErrorAndTheSessionStays) {
  const auto id = start_idle("slow");
  const auto how = rig->run({"follow-up", "--timeout", "0.5", id, "#hang begun"});
  EXPECT_EQ(how.status, 1);
  EXPECT_NE(how.err.find("timed out"), std::string::npos) << how.err;
  EXPECT_EQ(rig->run({"follow-up", id, "#plain fine"}).out, "fine\n");
  auto hanging = rig->start({"follow-up", "-d", id, "#hang x"});
  EXPECT_EQ(hanging.wait().status, 0);
  const auto wait = rig->run({"wait", "--timeout", "0.2", id});
  EXPECT_EQ(wait.status, 1);
  EXPECT_NE(wait.err.find("not settled in time"), std::string::npos) << wait.err;
  const auto other = start_idle("other");
  rig->run({"follow-up", "-d", "other", "#hang y"});
  const auto both = rig->run({"wait", "--timeout", "0.2", "slow", "other"});
  EXPECT_EQ(both.status, 1);
  for (const char* one : {"piorch wait: slow: ", "piorch wait: other: "})
    EXPECT_NE(both.err.find(one), std::string::npos) << both.err;
}

TEST_F(Session, ManyFollowFromAnyPoint) {
  const auto id = start_idle("shown");
  auto whole = rig->start({"follow", id, "--json"});
  rig->run({"follow-up", id, "#bash echo seen"});
  EXPECT_EQ(rig->run({"follow", id, "--from", "99999999999999999999"}).status, 2);
  auto late = rig->start({"follow", id, "--from", "4", "--json"});
  rig->run({"stop", id});
  const auto all = events(whole.wait().out);
  const auto some = events(late.wait().out);
  ASSERT_GT(all.size(), 8u);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i]["seq"], i + 1);
  ASSERT_EQ(some.size(), all.size() - 3);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 3));
  EXPECT_EQ(all.back()["event"]["state"], "stopped");
  EXPECT_EQ(events(rig->run({"follow", id, "--json"}).out), all); // also afterwards
}

TEST_F(Session, WorkersRunWithTheToolsAndTheModelAskedFor) {
  const auto how =
      rig->run({"start", "--tools", "read", "--model", "scripted/scripted", "#bash echo no"});
  EXPECT_NE(how.out.find("bash not found"), std::string::npos) << how.out;
  const auto unknown = rig->run({"start", "--model", "nowhere/nothing", "#plain x"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("\"nowhere/nothing\" not found"), std::string::npos) << unknown.err;
}

TEST_F(Session, SettingsThatCannotBeUnderstoodRemoveNothing) {
  ASSERT_EQ(rig->run({"start", "#plain old"}).out, "old\n");
  const auto kept = rig->sessions() / sessions().at(0)["id"].get<std::string>();
  rig->end_orchestrator(SIGTERM);
  auto document = nlohmann::json::parse(test::read_file(kept / "session.json"));
  document["endedAt"] = document["updatedAt"] = "2020-01-01T00:00:00.000Z";
  std::ofstream(kept / "session.json") << document;

  rig->configure(R"({"sessions": {"keepDays": "for ever"}})");
  rig->run({"status"});
  EXPECT_TRUE(std::filesystem::exists(kept));
  rig->end_orchestrator(SIGTERM);
  rig->configure("{}");
  rig->run({"status"});
  EXPECT_FALSE(std::filesystem::exists(kept)) << "older than the default";
}

} // namespace
} // namespace piorch
