// Who is asked for the connections of a session that was started on the command line: the
// person in front of it, whoever watches, else nobody.
#include "tests/e2e/session_network.hpp"
#include "tests/support/terminal.hpp"

#include <gmock/gmock.h>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* fetch = "#bash curl -sS http://www.example.org/";
constexpr const char* fetch_later =
    "#bash until [ -e go ]; do sleep 0.1; done; curl -sS http://www.example.org/";
constexpr const char* question = "wants to connect to www.example.org:80";

class SessionApprovals : public test::session_network {
protected:
  void SetUp() override {
    session_network::SetUp();
    if (rig)
      allow({provider});
  }
  test::program piorch(std::vector<std::string> words) const {
    auto p = rig->piorch_on_terminal(std::move(words));
    p.environment["NO_COLOR"] = "1";
    return p;
  }
  std::string start(const std::string& task, const std::string& name = "asker") const {
    const auto how = rig->run({"start", "-d", "--name", name, task});
    EXPECT_EQ(how.status, 0) << how.err;
    return rig->line(how.out);
  }
  void go() const { std::ofstream(rig->workspace() + "/go") << ""; }
};

TEST_F(SessionApprovals, ThePersonInFrontOfItAllowsOneConnectionByItsName) {
  test::terminal t(piorch({"start", "--name", "asker", fetch}));
  t.type("www.example.org\n"); // before it was asked: that is no answer
  ASSERT_TRUE(t.sees(question, 60s)) << t.screen();
  EXPECT_THAT(t.screen(), HasSubstr("(asker)"));
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("WWW.example.org\n");
  EXPECT_TRUE(t.sees("public")) << t.screen();
  EXPECT_EQ(t.end(), 0);
  EXPECT_THAT(t.screen(), Not(HasSubstr("\r\033[K"))) << "NO_COLOR: nothing is drawn again";
}

TEST_F(SessionApprovals, AYesIsNoAnswerAndIsToldToTheWorker) {
  test::terminal t(piorch({"start", fetch}));
  ASSERT_TRUE(t.sees("Anything else is no: ", 60s)) << t.screen();
  t.type("yes\n");
  EXPECT_TRUE(t.sees("denied")) << t.screen();
  EXPECT_EQ(t.end(), 0) << t.screen();
  EXPECT_THAT(t.screen(), Not(HasSubstr("public")));
}

TEST_F(SessionApprovals, AQuestionThatIsAnsweredElsewhereLeavesTheScreen) {
  test::terminal t(piorch({"start", fetch}));
  ASSERT_TRUE(t.sees("Anything else is no: ", 60s)) << t.screen();
  const auto waiting = rig->json({"approvals"})["approvals"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(rig->run({"approve", waiting[0]["id"]}).status, 0);
  EXPECT_TRUE(t.sees("no longer asked here")) << t.screen();
  EXPECT_TRUE(t.sees("public")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(SessionApprovals, NothingElseIsWrittenWhileAQuestionIsOpen) {
  const auto call = [](const std::string& command) {
    return json{{"name", "bash"}, {"arguments", {{"command", command}}}};
  };
  const json steps = {{{"tools",
                        {call("curl -sS http://www.example.org/"),
                         call("until [ -e go ]; do sleep 0.1; done; exit 7")}}},
                      {{"text", "the end"}}};
  test::terminal t(piorch({"start", "--name", "both", "#steps " + steps.dump()}));
  ASSERT_TRUE(t.sees("Anything else is no: ", 60s)) << t.screen();
  go();
  auto follower = rig->start({"follow", "--json", "both"});
  EXPECT_TRUE(rig->within(
      30s, [&] { return follower.out().find("\"isError\":true") != std::string::npos; }));
  t.type("www.example.org\n");
  EXPECT_TRUE(t.sees("! bash")) << t.screen();
  EXPECT_THAT(t.screen(), HasSubstr("Anything else is no: www.example.org\r\n"));
  EXPECT_TRUE(t.sees("the end")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(SessionApprovals, WhoWaitsForOrFollowsASessionIsAsked) {
  // With it a request waits until one of the two is there.
  auto watcher = rig->start({"approvals", "--watch"});
  ASSERT_TRUE(rig->within(20s, [&] { return !watcher.out().empty(); }));
  for (const char* command : {"wait", "follow"}) {
    std::filesystem::remove(rig->workspace() + "/go");
    const auto id = start(fetch_later);
    test::terminal t(piorch({command, id}));
    if (std::string(command) == "follow") {
      ASSERT_TRUE(t.sees("$ bash until", 60s)) << t.screen();
    }
    go();
    ASSERT_TRUE(t.sees(question, 60s)) << t.screen();
    ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
    t.type("www.example.org\n");
    EXPECT_TRUE(t.sees("public")) << t.screen();
    EXPECT_EQ(rig->run({"stop", id}).status, 0);
    EXPECT_EQ(t.end(), 0);
  }
}

TEST_F(SessionApprovals, ARequestWaitsForWhoeverWatches) {
  auto watcher = rig->start({"approvals", "--watch"});
  ASSERT_TRUE(rig->within(20s, [&] { return !watcher.out().empty(); }));
  const auto id = start(fetch);
  ASSERT_TRUE(rig->within(60s, [&] {
    return watcher.out().find("session: asker " + id) != std::string::npos;
  })) << watcher.out();
  const auto waiting = rig->json({"approvals"})["approvals"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(rig->run({"approve", waiting[0]["id"]}).status, 0);
  EXPECT_THAT(rig->run({"wait", id}).out, HasSubstr("public"));
  // With the watcher goes who could be asked.
  auto again = rig->start({"follow-up", id, fetch});
  ASSERT_TRUE(rig->within(60s, [&] { return rig->json({"approvals"})["approvals"].size() == 1; }));
  ::kill(watcher.pid(), SIGTERM);
  watcher.wait();
  ASSERT_TRUE(rig->within(60s, [&] { return again.out().find("left") != std::string::npos; }))
      << again.out() << again.err();
  EXPECT_EQ(again.wait().status, 0);
  EXPECT_THAT(rig->run({"why", id}).out, HasSubstr("whoever was asked left without an answer"));
}

TEST_F(SessionApprovals, WhatTheTerminalDoesNotShowCannotBeAllowed) {
  const auto id = start(fetch_later);
  test::terminal t(piorch({"follow", id}));
  ASSERT_TRUE(t.sees("$ bash until", 60s)) << t.screen();
  t.type("\x13"); // Ctrl-S
  go();
  EXPECT_THAT(rig->run({"wait", id}).out, HasSubstr("denied"));
  t.type("\x11"); // Ctrl-Q
  EXPECT_THAT(t.screen(), Not(HasSubstr("public")));
  EXPECT_EQ(rig->run({"stop", id}).status, 0);
  EXPECT_EQ(t.end(), 0);
}

// What a shell's user does with a job.
TEST_F(SessionApprovals, AQuestionWaitsInTheBackgroundAndIsAskedAgainInFront) {
  auto shell = piorch({});
  shell.argv = {"/bin/bash", "--norc", "--noprofile", "-i"};
  const std::string start = PIORCH_BUILD_DIR "/bin/piorch start '" + std::string(fetch) + "'";
  test::terminal t(shell);
  t.type(start + "\n");
  ASSERT_TRUE(t.sees("Anything else is no: ", 60s)) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("clear; fg\n");
  ASSERT_TRUE(t.sees(question)) << t.screen();
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  ASSERT_TRUE(t.sees("public")) << t.screen();

  t.type(start + " &\n");
  ASSERT_TRUE(t.sees("bring this to the foreground", 60s)) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  ASSERT_TRUE(t.sees("public")) << t.screen();
  t.type("exit\n");
  EXPECT_EQ(t.end(), 0);
}

TEST_F(SessionApprovals, OnlyWhatTheCommandWaitsForIsAsked) {
  const auto mine = start("#bash until [ -e never ]; do sleep 0.1; done", "mine");
  test::terminal t(piorch({"follow", mine}));
  ASSERT_TRUE(t.sees("$ bash until", 60s)) << t.screen();
  const auto other = start(fetch);
  ASSERT_TRUE(t.sees("session " + other + " (asker) waits for an answer: piorch approvals", 60s))
      << t.screen();
  const auto waiting = rig->json({"approvals"})["approvals"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(rig->run({"deny", waiting[0]["id"]}).status, 0);
  EXPECT_EQ(rig->run({"stop", "--all"}).status, 0);
  EXPECT_EQ(t.end(), 0);
  EXPECT_THAT(t.screen(), Not(HasSubstr("wants to connect")));
}

TEST_F(SessionApprovals, WithoutAnybodyItIsDeniedAtOnce) {
  const auto how = rig->run({"start", fetch});
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_THAT(how.out, HasSubstr("nobody can be asked"));
}

} // namespace
} // namespace piorch
