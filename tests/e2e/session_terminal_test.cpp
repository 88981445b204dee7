// A foreground session in front of a person, and the demonstration with the person's own Pi.
#include "tests/e2e/session_fixture.hpp"
#include "tests/support/terminal.hpp"

namespace piorch {
namespace {

using namespace std::chrono_literals;

class SessionTerminal : public test::session_fixture {
protected:
  test::program piorch(std::vector<std::string> words) const {
    return rig->piorch_on_terminal(std::move(words));
  }
  std::string state_of_the_only_one() const {
    const auto all = rig->json({"status"})["sessions"];
    return all.size() == 1 ? all[0]["state"].get<std::string>() : all.dump();
  }
};

TEST_F(SessionTerminal, ALiveLineSaysWhatTheWorkerDoes) {
  test::terminal t(
      piorch({"start", "#bash touch begun; until [ -e go ]; do sleep 0.1; done; echo the text"}));
  EXPECT_TRUE(t.sees("starting · ", 60s)) << t.screen();
  EXPECT_TRUE(t.sees("$ bash touch begun", 60s)) << t.screen();
  for (int i = 0; i < 3; ++i) // in place, with a clock that goes on
    EXPECT_TRUE(t.sees("\r\033[K\033[36mbash touch begun")) << t.screen();
  std::ofstream(rig->workspace() + "/go") << "";
  EXPECT_TRUE(t.sees("the text")) << t.screen();
  EXPECT_EQ(t.end(), 0);
  EXPECT_EQ(state_of_the_only_one(), "stopped");
}

TEST_F(SessionTerminal, ControlCAbortsTheRun) {
  test::terminal t(piorch({"start", "#bash echo begun; sleep 1000"}));
  ASSERT_TRUE(t.sees("$ bash echo begun", 60s)) << t.screen();
  t.type("\x03");
  EXPECT_TRUE(t.sees("aborted")) << t.screen();
  EXPECT_EQ(t.end(), 130) << t.screen();
  EXPECT_EQ(state_of_the_only_one(), "stopped");
}

TEST_F(SessionTerminal, ControlCTwiceStopsASessionThatDoesNotObey) {
  use_villain();
  test::terminal t(piorch({"start", "stubborn"}));
  ASSERT_TRUE(t.sees("> stubborn", 60s)) << t.screen();
  t.type("\x03");
  ASSERT_TRUE(t.sees("Ctrl-C again stops the session")) << t.screen();
  t.type("\x03");
  // Without the second one it would be ended after limits::abort_grace, as failed.
  EXPECT_EQ(t.end(), 130) << t.screen();
  EXPECT_EQ(state_of_the_only_one(), "stopped");
}

// The clipboard, the colours and the place of the cursor belong to the person.
TEST_F(SessionTerminal, WhatAWorkerSaysCannotDriveTheTerminal) {
  const std::string task = "#bash printf 'a\\033]52;c;aGk=\\007\\033[2Jb'";
  test::terminal t(piorch({"start", "--name", "painter", task}));
  EXPECT_EQ(t.end(60s), 0);
  test::terminal again(piorch({"result", "painter"}));
  EXPECT_EQ(again.end(), 0);
  for (const auto& screen : {t.screen(), again.screen()}) {
    EXPECT_EQ(screen.find("\033]52"), std::string::npos) << screen;
    EXPECT_EQ(screen.find("\033[2J"), std::string::npos) << screen;
    EXPECT_NE(screen.find("]52;c;aGk="), std::string::npos) << screen;
  }
  // Bytes are bytes where no terminal is.
  EXPECT_NE(rig->run({"result", "painter"}).out.find("\033]52;c;aGk=\007\033[2J"),
            std::string::npos);
}

TEST_F(SessionTerminal, AListIsPrintedBelowWhatIsThere) {
  test::terminal t(piorch({"status"}));
  EXPECT_EQ(t.end(60s), 0);
  EXPECT_EQ(t.screen().find("\033[H"), std::string::npos) << t.screen();
}

TEST_F(SessionTerminal, TheDemonstrationTakesThePersonsOwnPiAndModel) {
  test::program demo;
  demo.argv = {PIORCH_SOURCE_DIR "/tools/ci/demo-session"};
  for (const auto& [name, value] : rig->environment())
    demo.environment[name] = value;
  const auto how = test::run(std::move(demo), 120s);
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_NE(how.out.find("your own Pi and its model"), std::string::npos) << how.out << how.err;
  EXPECT_EQ(how.out.find("once more"), std::string::npos) << how.out << how.err;
  ASSERT_FALSE(rig->pi.requests().empty());
  EXPECT_EQ(rig->pi.requests().front()["task"],
            "Read notes.txt, count its words with a command, and tell me what it is about.");
}

} // namespace
} // namespace piorch
