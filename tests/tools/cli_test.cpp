// The program itself, started as a person would.
#include "tests/tools/cli.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Cli, Version) {
  for (const char* words : {"version", "--version", "-V"}) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.out, "piorch " PIORCH_VERSION "\n");
    EXPECT_EQ(r.err, "");
  }
  const auto r = run("version --json");
  EXPECT_EQ(nlohmann::json::parse(r.out)["version"], PIORCH_VERSION);
  EXPECT_EQ(run("version x").status, 2);
}

TEST_F(Cli, Help) {
  for (const char* words : {"help", "--help", "-h"}) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.out, HasSubstr("Commands"));
    EXPECT_THAT(r.out, HasSubstr("  config "));
    EXPECT_THAT(r.out, Not(HasSubstr("\x1b"))) << "no colour into a file";
  }
  for (const char* name : {"config", "version", "help"}) {
    const auto by_command = run(std::string("help ") + name);
    EXPECT_EQ(by_command.status, 0);
    EXPECT_THAT(by_command.out, HasSubstr(std::string("  piorch ") + name));
    EXPECT_EQ(run(std::string(name) + " --help").out, by_command.out);
    EXPECT_EQ(run(std::string(name) + " --nonsense -h").out, by_command.out);
  }
}

TEST_F(Cli, HelpSaysWhatHoldsForEachCommand) {
  EXPECT_THAT(run("help start").out, HasSubstr("(default: the current directory)"));
  EXPECT_THAT(run("help handoff").out, HasSubstr("(default: that of SESSION)"));
  EXPECT_THAT(run("help policy").out, HasSubstr("in the place of COMMAND"));
  EXPECT_THAT(run("help exec").out, HasSubstr("none of the present environment but PATH, HOME,"));
}

TEST_F(Cli, WrongUse) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "piorch: no command given (see piorch help)\n"},
      {"verison", "piorch: unknown command \"verison\", did you mean version? (see piorch help)\n"},
      {"frobnicate", "piorch: unknown command \"frobnicate\" (see piorch help)\n"},
      {"help frobnicate", "piorch: unknown command \"frobnicate\" (see piorch help)\n"},
      {"help a b", "piorch help: one command at a time (see piorch help help)\n"},
      {"--frobnicate",
       "piorch: unknown option --frobnicate: a command comes first (see piorch help)\n"},
      {"version --jsn",
       "piorch version: unknown option --jsn, did you mean --json? (see piorch help version)\n"},
      {"config", "piorch config: one of path, check and show is needed (see piorch help config)\n"},
      {"config edit",
       "piorch config: \"edit\" is none of path, check and show (see piorch help config)\n"},
      {"\"$(printf 'a\\033[2Jb\\n\\nc')\"",
       "piorch: unknown command \"a\\x1b[2Jb\\x0a\\x0ac\" (see piorch help)\n"},
      {"''", "piorch: unknown command \"\" (see piorch help)\n"},
  };
  for (const auto& [words, line] : cases) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, line);
  }
}

TEST_F(Cli, WrongUseOfExecIsNotTheStatusOfACommand) {
  const std::pair<const char*, const char*> cases[] = {
      {"exec", "piorch exec: no command: give -- CMD [ARG…] or -c STRING (see piorch help exec)\n"},
      {"exec --foo -- touch ran", "piorch exec: unknown option --foo (see piorch help exec)\n"},
      {"exec touch ran",
       "piorch exec: unexpected \"touch\": put -- before the command (see piorch help exec)\n"},
  };
  for (const auto& [words, line] : cases) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 125) << words;
    EXPECT_EQ(r.err, line);
  }
  home.write(trusted, "{");
  EXPECT_EQ(run("exec -- touch ran").status, 125) << "a configuration that is not understood";
  EXPECT_FALSE(std::filesystem::exists(home.path() / "ran"));
}

// What `help` writes to a terminal.
std::string on_a_terminal(const std::function<outcome(const std::string&)>& run) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    return "no terminal to be had";
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC); // keeps it up
  EXPECT_EQ(run(std::string("help >") + ::ptsname(terminal)).status, 0);
  std::string text(8192, '\0');
  const ssize_t count = ::read(terminal, text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  ::close(other_end);
  ::close(terminal);
  return text;
}

TEST_F(Cli, ColourOnlyOnATerminalThatWantsIt) {
  const auto with = [&](const char* environment) {
    return on_a_terminal([&](const std::string& words) { return run(words, environment); });
  };
  EXPECT_THAT(with("TERM=xterm"), HasSubstr("\x1b[1mUsage"));
  for (const char* environment : {"TERM=xterm NO_COLOR=1", "TERM=dumb", "TERM="}) {
    EXPECT_THAT(with(environment), HasSubstr("Usage"));
    EXPECT_THAT(with(environment), Not(HasSubstr("\x1b"))) << environment;
  }
}

TEST_F(Cli, FullDiskIsNoSuccess) {
  const auto r = run("help >/dev/full");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("No space left"));
}

TEST_F(Cli, ConfigWithoutAFile) {
  const auto path = run("config path");
  EXPECT_EQ(path.status, 0);
  EXPECT_EQ(path.out, home.path().string() + '/' + trusted + '\n');
  EXPECT_THAT(path.err, HasSubstr("does not exist yet"));
  const auto json = nlohmann::json::parse(run("config path --json").out);
  EXPECT_TRUE(json["file"].is_null());
  EXPECT_EQ(run("config check").status, 0);
  EXPECT_EQ(nlohmann::json::parse(run("config check --json").out)["ok"], true);
  EXPECT_THAT(run("config show").out, HasSubstr("approvals.timeoutSeconds: 300\n"));
}

TEST_F(Cli, ConfigOfTheLegacyFile) {
  const auto file = home.write(legacy, R"({"network": {"allowedDomains": ["Example.org"]}})");
  EXPECT_EQ(run("config path").out, file + '\n');
  EXPECT_EQ(run("config check").out, file + ": ok\n");
  const auto text = run("config show").out;
  EXPECT_THAT(text, StartsWith("# " + file + '\n'));
  EXPECT_THAT(text, HasSubstr("network.allowedDomains: [\"example.org\"]\n"));
  EXPECT_THAT(text, HasSubstr("approvals.timeoutSeconds: 300  (default)\n"));
  // What show --json prints can be the file.
  home.write(trusted, run("config show --json").out);
  EXPECT_EQ(run("config check").status, 0);
  EXPECT_THAT(run("config show").out, HasSubstr("network.allowedDomains: [\"example.org\"]\n"));
}

TEST_F(Cli, ConfigThatIsWrong) {
  home.write(legacy, "{}");
  const auto file = home.write(trusted, R"({"network": {"allowedDomians": []}})");
  const std::string line = file + ": network.allowedDomians: unknown key (did you mean "
                                  "network.allowedDomains?)";
  for (const char* action : {"config check", "config show", "config show --json"}) {
    const auto r = run(action);
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "piorch config: " + line + '\n');
  }
  const auto r = run("config check --json");
  EXPECT_EQ(r.status, 1);
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["file"], file);
  EXPECT_EQ(json["error"], line);
  EXPECT_EQ(run("config path").status, 0);
}

TEST_F(Cli, TheEnvironmentCannotPointElsewhere) {
  home.write("evil/pi-sandbox.json", "{\"limits\": {\"processes\": 1}}");
  home.write("evil/extensions/pi-sandbox/config.json", "{\"limits\": {\"processes\": 1}}");
  EXPECT_EQ(
      run("config check", "PI_CODING_AGENT_DIR=\"$PWD/evil\" XDG_CONFIG_HOME=\"$PWD/evil\"").out,
      "no configuration file: the defaults hold\n");
}

TEST_F(Cli, WithoutAPlaceForAnOrchestratorThereIsNone) {
  for (const char* words : {"start x", "wait x", "status", "approvals", "approve x"}) {
    const auto r = run(words, "XDG_RUNTIME_DIR=/nonexistent");
    EXPECT_EQ(r.status, 4) << words << r.err;
    EXPECT_NE(r.err.find("/nonexistent"), std::string::npos) << r.err;
  }
}

TEST_F(Cli, AnEmptyWordIsNoWord) {
  for (const char* words : {"approve ''", "why ''", "result ''", "follow ''", "config ''"}) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  EXPECT_NE(run("approve ''").err.find("exactly one ID is expected"), std::string::npos);
}

} // namespace
} // namespace piorch::cli
