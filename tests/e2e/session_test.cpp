// Sessions from the command line, with real Pi: each row of the contract's section 4.
#include "tests/e2e/session_fixture.hpp"

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
  ASSERT_TRUE(rig->within(20s, [&] { return !kept().empty(); }));
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
  for (const auto& d : rig->json({"status"})["sessions"])
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
  for (const auto& d : rig->json({"status"})["sessions"])
    EXPECT_EQ(d["state"], "stopped");
  EXPECT_TRUE(no_litter());
}

TEST_F(Session, AbortEndsTheRunAndKeepsTheSession) {
  const auto id = start_idle("kept");
  auto waiting = rig->start({"follow-up", id, "#bash echo begun > begun; sleep 100"});
  ASSERT_TRUE(rig->within(20s, [&] { return has_file("begun"); }));
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
  EXPECT_TRUE(rig->within(5s, [&] { return live() == 0; }));
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
}

TEST_F(Session, ManyFollowFromAnyPoint) {
  const auto id = start_idle("shown");
  auto whole = rig->start({"follow", id, "--json"});
  rig->run({"follow-up", id, "#bash echo seen"});
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

TEST_F(Session, HundredFollowUpsAtOnceGetHundredAnswers) {
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  ipc::session_start_params start;
  start.task = "#plain begin";
  start.cwd = rig->workspace();
  start.background = true;
  auto session = c.call(start, 60s);
  ASSERT_TRUE(session) << session.failed().text;
  const auto id = (*session)["session"]["id"].get<std::string>();
  std::map<long long, std::string> wanted;
  for (int i = 0; i < 100; ++i) {
    ipc::session_follow_up_params p;
    p.session_id = id;
    p.task = "#plain answer " + std::to_string(i);
    wanted[c.request(p)] = "answer " + std::to_string(i);
  }
  while (!wanted.empty()) {
    auto in = c.receive(ipc::client::clock::now() + 60s);
    ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
    for (auto i = wanted.begin(); i != wanted.end(); ++i)
      if (auto answer = ipc::client::answer_to(i->first, in->message)) {
        ASSERT_TRUE(*answer) << answer->failed().text;
        EXPECT_EQ((**answer)["text"], i->second);
        wanted.erase(i);
        break;
      }
  }
  EXPECT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  ::waitpid(pid, nullptr, 0);
}

TEST_F(Session, RacingStartsNeverExceedFour) {
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  std::vector<long long> ids;
  for (int i = 0; i < 200; ++i) {
    ipc::session_start_params p;
    p.task = "#hang x";
    p.cwd = rig->workspace();
    p.background = true;
    ids.push_back(c.request(p));
  }
  int started = 0, refused = 0;
  while (started + refused < 200) {
    auto in = c.receive(ipc::client::clock::now() + 60s);
    ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
    for (const auto id : ids)
      if (auto answer = ipc::client::answer_to(id, in->message)) {
        if (*answer) {
          ++started;
        } else {
          ++refused;
          EXPECT_EQ(answer->failed().text, "subagent concurrency limit reached (4)");
        }
      }
  }
  EXPECT_EQ(started, 4);
  ipc::session_stop_params all;
  all.all = true;
  EXPECT_TRUE(c.call(all, 10s));
  c = ipc::client(ipc::unique_fd());
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(rig->within(5s, [&] { return rig->everything().empty(); }));
}

} // namespace
} // namespace piorch
