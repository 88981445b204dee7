// From nothing to an approved connection and a followed session, by what help and the README say.
#include "tests/e2e/session_network.hpp"
#include "tests/support/terminal.hpp"

#include <gmock/gmock.h>

#include <regex>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* script = PIORCH_SOURCE_DIR "/tests/e2e/new_user.sh";

class NewUser : public test::session_network {
protected:
  void SetUp() override {
    session_network::SetUp();
    if (rig)
      std::filesystem::remove_all(rig->root() / "home/.pi");
  }
  test::program on_terminal(std::vector<std::string> argv) const {
    auto p = rig->on_terminal(std::move(argv));
    p.environment["PATH"] = PIORCH_BUILD_DIR "/bin:" + rig->environment().at("PATH");
    p.environment["MODEL"] = provider;
    return p;
  }
};

TEST_F(NewUser, GetsFromNothingToAnApprovedConnectionAndAFollowedSession) {
  test::terminal t(on_terminal({"bash", script}), 50, 120);
  ASSERT_TRUE(t.sees("doctor", 60s)) << t.screen();
  ASSERT_TRUE(t.sees("config.json: ok", 60s)) << t.screen();

  // Asked by `piorch exec`, on its terminal.
  ASSERT_TRUE(t.sees("wants to connect to www.example.org:80", 60s)) << t.screen();
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  ASSERT_TRUE(t.sees("public came through the sandbox")) << t.screen();

  ASSERT_TRUE(t.sees("ready", 90s)) << t.screen();
  test::terminal follower(on_terminal({PIORCH_BUILD_DIR "/bin/piorch", "follow", "helper"}));
  EXPECT_TRUE(follower.sees("> #plain ready", 60s)) << follower.screen();

  // Asked for the session, on the terminal of whoever waits for it.
  ASSERT_TRUE(t.sees("wants to connect to www.example.org:80", 60s)) << t.screen();
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  EXPECT_TRUE(follower.sees("public", 60s)) << follower.screen();
  ASSERT_TRUE(t.sees("the tour is over", 60s)) << t.screen();
  EXPECT_EQ(t.end(), 0);
  EXPECT_EQ(follower.end(), 0) << "the session has ended";
  EXPECT_THAT(t.screen(), HasSubstr("nothing was refused to session"));
}

// Otherwise the test above would prove nothing.
TEST_F(NewUser, UsesWhatHelpAndTheReadmeShow) {
  const auto help = rig->run({"help"}).out;
  const auto readme = test::read_file(PIORCH_SOURCE_DIR "/README.md");
  const auto steps = test::read_file(script);
  const std::regex use("piorch ([a-z-]+)((?: -[-a-z]+)*)");
  std::size_t count = 0;
  for (std::sregex_iterator at(steps.begin(), steps.end(), use), end; at != end; ++at, ++count) {
    const std::string command = (*at)[1];
    EXPECT_THAT(help, HasSubstr("\n  " + command)) << "piorch help names it";
    const auto its = rig->run({"help", command}).out;
    std::istringstream used((*at)[2]);
    for (std::string option; used >> option;)
      EXPECT_THAT(its, HasSubstr(" " + option)) << command;
  }
  EXPECT_GT(count, 10u);
  for (const char* shown : {"piorch exec -c ", "piorch start -d --name helper ",
                            "piorch wait helper", "piorch follow-up helper ", "piorch why helper",
                            "piorch stop helper", "network.allowedDomains", "piorch help"})
    EXPECT_THAT(readme, HasSubstr(shown));
}

} // namespace
} // namespace piorch
