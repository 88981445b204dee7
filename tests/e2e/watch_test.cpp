// `piorch status --watch` in front of a person: what is shown, and which key answers what.
#include "tests/e2e/waiting_commands.hpp"
#include "tests/support/terminal.hpp"

#include <gmock/gmock.h>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class StatusWatch : public test::waiting_commands {
protected:
  test::program piorch() const {
    auto p = rig->piorch_on_terminal({"status", "--watch"});
    p.environment["NO_COLOR"] = "1";
    return p;
  }
  json waiting() const { return rig->json({"approvals"})["approvals"]; }
  // The ids of what waits, when there are so many.
  std::vector<std::string> ids(std::size_t count) const {
    std::vector<std::string> out;
    EXPECT_TRUE(rig->within(20s, [&] { return waiting().size() == count; }));
    for (const auto& one : waiting())
      out.push_back(one["id"]);
    return out;
  }
};

TEST_F(StatusWatch, AKeyAnswersWhatIsSelectedAndNothingElse) {
  test::terminal t(piorch());
  ASSERT_TRUE(t.sees("waiting for approval: 0", 30s)) << t.screen();
  run("touch first");
  const auto first = ids(1).at(0);
  ASSERT_TRUE(t.sees("run on the host: touch first")) << t.screen();
  t.type("a");
  ASSERT_TRUE(t.sees("nothing is selected")) << t.screen();
  t.type("j");
  ASSERT_TRUE(t.sees("> " + first)) << t.screen();
  ASSERT_TRUE(t.sees("run ON THE HOST, outside of the sandbox: touch first")) << t.screen();
  ASSERT_TRUE(t.sees("in: " + rig->workspace())) << t.screen();
  ASSERT_TRUE(t.sees("a allow once")) << t.screen();
  EXPECT_FALSE(has_file("first"));
  t.type("a");
  ASSERT_TRUE(t.sees(first + " allowed")) << t.screen();
  EXPECT_TRUE(rig->within(20s, [&] { return has_file("first"); }));
  ASSERT_TRUE(t.sees("waiting for approval: 0")) << t.screen();
  ASSERT_TRUE(t.sees("allowed")) << t.screen(); // keys of before are dropped by now
  t.type("q");
  EXPECT_EQ(t.end(), 0);
  EXPECT_THAT(t.screen(), HasSubstr("\033[?1049l")) << "the screen of before is back";
  EXPECT_THAT(t.screen(), Not(HasSubstr("\033[1m"))) << "NO_COLOR";
}

// The view has no room for a long one and sends the person here.
TEST_F(StatusWatch, TheListShowsACommandForTheHostWhole) {
  run("touch first " + std::string(3000, 'x') + " last");
  ids(1);
  const auto list = rig->run({"approvals"}).out;
  EXPECT_THAT(list, HasSubstr("run ON THE HOST, outside of the sandbox"));
  EXPECT_THAT(list, HasSubstr("x last\n"));
}

TEST_F(StatusWatch, NothingElseComesUnderAKey) {
  run("touch one");
  run("touch two");
  const auto two = ids(2);
  test::terminal t(piorch());
  ASSERT_TRUE(t.sees("waiting for approval: 2", 30s)) << t.screen();
  t.type("ja"); // at once: the second was typed before the first was seen
  ASSERT_TRUE(t.sees("> " + two[0])) << t.screen();
  EXPECT_EQ(waiting().size(), 2u);
  // Somebody else answers it while it is selected: the other one does not take its place.
  ASSERT_EQ(rig->run({"deny", two[0]}).status, 0);
  ASSERT_TRUE(t.sees("waiting for approval: 1")) << t.screen();
  ASSERT_TRUE(t.sees("j k select")) << t.screen();
  t.type("a");
  ASSERT_TRUE(t.sees("nothing is selected")) << t.screen();
  EXPECT_EQ(ids(1).at(0), two[1]);
  t.type("j");
  ASSERT_TRUE(t.sees("> " + two[1])) << t.screen();
  ASSERT_TRUE(t.sees("a allow once")) << t.screen();
  t.type("d");
  ASSERT_TRUE(t.sees(two[1] + " denied")) << t.screen();
  ids(0);
  EXPECT_FALSE(has_file("one") || has_file("two"));
  ASSERT_TRUE(t.sees("waiting for approval: 0")) << t.screen();
  ASSERT_TRUE(t.sees("denied")) << t.screen(); // keys of before are dropped by now
  t.type("\x03");
  EXPECT_EQ(t.end(), 0);
}

// The key comes in the moment in which what it would have answered goes.
TEST_F(StatusWatch, WhoeverLeavesLeavesWhateverChanges) {
  run("touch one");
  const auto one = ids(1).at(0);
  test::terminal t(piorch());
  ASSERT_TRUE(t.sees("waiting for approval: 1", 30s)) << t.screen();
  t.type("j");
  ASSERT_TRUE(t.sees("a allow once")) << t.screen();
  ::kill(t.pid(), SIGSTOP);
  ASSERT_EQ(rig->run({"deny", one}).status, 0);
  t.type("aq");
  ::kill(t.pid(), SIGCONT);
  EXPECT_EQ(t.end(), 0);
  EXPECT_FALSE(has_file("one"));
}

TEST_F(StatusWatch, CommandsWithTheirFiguresAsTheyChange) {
  run("until [ -e go ]; do :; done; sleep 1000");
  test::terminal t(piorch());
  ASSERT_TRUE(t.sees("commands: 1", 30s)) << t.screen();
  ASSERT_TRUE(t.sees("until [ -e go ]")) << t.screen();
  const auto list = [&](std::optional<std::uint64_t> after) {
    auto answer = owner->call(ipc::command_list_params{after}, 30s);
    EXPECT_TRUE(answer) << answer.failed().text;
    auto read = ipc::read<ipc::command_list_result>(*answer);
    EXPECT_TRUE(read);
    return *read;
  };
  auto now = list({});
  // Told, not polled: it burns, so its figures change until they are enough.
  while (now.commands.size() == 1 && now.commands[0].cpu_seconds < 0.3)
    now = list(now.revision);
  ASSERT_EQ(now.commands.size(), 1u);
  EXPECT_EQ(now.commands[0].cwd, rig->workspace());
  EXPECT_GT(now.commands[0].pid, 0);
  EXPECT_GT(now.commands[0].rss_bytes, 1u << 20);
  EXPECT_GE(now.commands[0].processes, 2u);
  EXPECT_FALSE(now.commands[0].on_host || now.commands[0].session_id);
  owner->request(ipc::command_cancel_params{"until [ -e go ]; do :; done; sleep 1000"});
  while (!now.commands.empty())
    now = list(now.revision);
  ASSERT_TRUE(t.sees("commands: 0")) << t.screen();
  t.type("q");
  EXPECT_EQ(t.end(), 0);
}

} // namespace
} // namespace piorch
