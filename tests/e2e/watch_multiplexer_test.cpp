// `piorch status --watch` as a terminal multiplexer shows it: what stands on the screen, not
// which bytes were sent.
#include "tests/e2e/waiting_commands.hpp"
#include "tests/support/run.hpp"

#include <gmock/gmock.h>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t columns = 80, rows = 24;

class WatchMultiplexer : public test::waiting_commands {
protected:
  void TearDown() override {
    if (rig)
      tmux({"kill-server"});
    waiting_commands::TearDown();
  }
  // Its own server, which reads nobody's configuration.
  test::finished tmux(std::vector<std::string> words) const {
    words.insert(words.begin(), {"tmux", "-S", rig->root() / "tmux", "-f", "/dev/null"});
    auto p = rig->on_terminal(std::move(words));
    p.environment["TMUX"] = std::nullopt;
    p.environment["TERM"] = "xterm-256color";
    return test::run(p);
  }
  void open(const std::string& variables) const {
    const auto opened =
        tmux({"new-session", "-d", "-x", std::to_string(columns), "-y", std::to_string(rows), "-s",
              "watch",
              "env " + variables +
                  " '" PIORCH_BUILD_DIR "/bin/piorch' status "
                  "--watch; left=$?; trap '' INT; echo left $left; exec sleep 1000"});
    ASSERT_EQ(opened.status, 0) << opened.err;
  }
  std::string screen(bool with_colour = false) const {
    std::vector<std::string> words{"capture-pane", "-p", "-t", "watch"};
    if (with_colour)
      words.push_back("-e");
    return tmux(words).out;
  }
  bool shows(const std::string& text, std::chrono::seconds limit = 30s) const {
    return rig->within(limit, [&] { return screen().find(text) != std::string::npos; });
  }
  void key(const std::string& name) const { tmux({"send-keys", "-t", "watch", name}); }
  // For a key that may come while those typed before a change are being dropped.
  bool key_shows(const std::string& name, const std::string& text) const {
    for (int tries = 0; tries < 15; ++tries) {
      key(name);
      if (shows(text, 2s))
        return true;
    }
    return false;
  }
  // The line on which `text` stands.
  std::string line_of(const std::string& text) const {
    const auto all = screen();
    const auto at = all.find(text);
    if (at == std::string::npos)
      return "no " + text + " in\n" + all;
    const auto begin = all.rfind('\n', at) + 1;
    return all.substr(begin, all.find('\n', at) - begin);
  }
};

TEST_F(WatchMultiplexer, EverythingAtEightyColumnsWithoutColour) {
  start_idle("watched");
  run("sleep 1000 # " + std::string(200, 'x'));
  run("touch first");
  run("touch second");
  open("NO_COLOR=1");
  // The first session's worker also has the compile cache made.
  ASSERT_TRUE(shows("commands: 1, waiting for approval: 2")) << screen();
  ASSERT_TRUE(shows("sleep 1000")) << screen();
  const auto all = screen();
  EXPECT_THAT(all, StartsWith("piorch  live sessions: 1, commands: 1, waiting for approval: 2\n"));
  EXPECT_THAT(all,
              HasSubstr("  SESSION  NAME       STATE    AGE     CPU     MEMORY   ACTIVE  TASK"));
  EXPECT_THAT(all,
              HasSubstr("  COMMAND             STATE    AGE     CPU     MEMORY   ACTIVE  COM"));
  EXPECT_THAT(line_of("watched"), HasSubstr(" idle "));
  EXPECT_THAT(line_of("watched"), HasSubstr("#plain ready"));
  EXPECT_THAT(line_of("sleep 1000"), HasSubstr("-c1 "));
  EXPECT_THAT(line_of("sleep 1000"), HasSubstr(" running "));
  EXPECT_THAT(line_of("sleep 1000"), HasSubstr("…")) << "cut, not wrapped";
  EXPECT_EQ(all.find(std::string(40, 'x')), std::string::npos);
  EXPECT_THAT(screen(true), Not(HasSubstr("\033["))) << "no colour, no bold, no reverse";

  key("j");
  ASSERT_TRUE(shows("a allow once   d deny   j k select   q ends")) << screen();
  EXPECT_THAT(line_of("run ON THE HOST"), HasSubstr("outside of the sandbox: touch first"));
  key("a");
  ASSERT_TRUE(shows(" allowed")) << screen();
  ASSERT_TRUE(shows("waiting for approval: 1")) << screen();
  EXPECT_TRUE(rig->within(20s, [&] { return has_file("first"); }));
  ASSERT_TRUE(key_shows("Down", "outside of the sandbox: touch second")) << screen();
  ASSERT_TRUE(shows("a allow once")) << screen();
  key("d");
  ASSERT_TRUE(shows(" denied")) << screen();
  ASSERT_TRUE(shows("waiting for approval: 0")) << screen();
  EXPECT_FALSE(has_file("second"));

  owner->request(ipc::command_cancel_params{"sleep 1000 # " + std::string(200, 'x')});
  ASSERT_TRUE(owner->flush(ipc::client::clock::now() + 10s));
  ASSERT_TRUE(shows("commands: 0")) << screen();
  ASSERT_TRUE(key_shows("q", "left 0")) << screen();
  EXPECT_THAT(screen(), Not(HasSubstr("live sessions"))) << "the screen of before is back";
  rig->run({"stop", "--all"});
}

TEST_F(WatchMultiplexer, WithColourTheSameTextAndASmallerScreen) {
  run("touch first");
  open("LANG=C.UTF-8");
  ASSERT_TRUE(shows("waiting for approval: 1")) << screen();
  EXPECT_THAT(screen(true), HasSubstr("\033[1mpiorch  live sessions: 0"));
  key("j");
  ASSERT_TRUE(shows("a allow once")) << screen();
  EXPECT_THAT(screen(true), ContainsRegex("\033\\[[0-9;]*7m[^\n]*> "))
      << "what is selected stands out";
  EXPECT_THAT(line_of("> "), HasSubstr("run on the host: touch first")) << "and without colour too";

  tmux({"resize-window", "-t", "watch", "-x", "60", "-y", "12"});
  ASSERT_TRUE(shows("a allow once")) << screen();
  key("d");
  ASSERT_TRUE(shows(" denied")) << screen();
  ASSERT_TRUE(key_shows("C-c", "left 0")) << screen();
}

} // namespace
} // namespace piorch
