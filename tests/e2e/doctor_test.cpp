// piorch doctor on this machine, and in namespaces that lack what it looks for.
#include "tests/tools/cli.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace piorch::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Doctor : public Cli {
protected:
  // `setup` runs as root of a user namespace of its own, with its own mounts.
  outcome run_after(const std::string& setup, const std::string& words = "doctor") const {
    return run(words,
               "unshare --user --map-root-user --mount sh -ec '" + setup + "; exec \"$@\"' sh");
  }
};

TEST_F(Doctor, FindsNothingThatPreventsASandboxHere) {
  const auto r = run("doctor");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  for (const char* line : {"ok    bubblewrap: ", "ok    user namespaces: ", "ok    sandbox: made"})
    EXPECT_THAT(r.out, HasSubstr(line));
  EXPECT_EQ(r.out.find("\x1b"), std::string::npos) << "no colour into a file";
  const auto json = nlohmann::json::parse(run("doctor --json").out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["findings"].back()["name"], "sandbox");
}

TEST_F(Doctor, LeavesNothingBehind) {
  std::filesystem::create_directory(home.path() / "temp");
  EXPECT_EQ(run("doctor", "TMPDIR=\"$PWD/temp\"").status, 0);
  for (const auto& entry : std::filesystem::directory_iterator(home.path() / "temp"))
    EXPECT_EQ(entry.path().filename().string().find("pi-sandbox-"), std::string::npos) << entry;
}

TEST_F(Doctor, NamesWhatIsMissing) {
  struct missing {
    const char* setup;
    const char* line;
    const char* fix;
  };
  const missing cases[] = {
      {"for p in /usr/bin/bwrap /usr/local/bin/bwrap; do [ ! -e $p ] || mount --bind /dev/null "
       "$p; done",
       "FAIL  bubblewrap: not found", "bubblewrap\n"},
      {"for p in /usr/bin/bwrap /usr/local/bin/bwrap; do [ ! -e $p ] || mount --bind /bin/false "
       "$p; done",
       "FAIL  bubblewrap: /usr/bin/bwrap does not say its version", "bubblewrap\n"},
      {"echo 0 >/proc/sys/user/max_user_namespaces",
       "FAIL  user namespaces: user.max_user_namespaces is 0",
       "sudo sysctl -w user.max_user_namespaces=15000\n"},
      {"mount --bind /dev/null /proc/kallsyms", "FAIL  /proc: this container covers parts of /proc",
       "--security-opt unmask=ALL"},
  };
  for (const missing& c : cases) {
    const auto r = run_after(c.setup);
    EXPECT_EQ(r.status, 1) << c.setup;
    EXPECT_THAT(r.out, AllOf(HasSubstr(c.line), HasSubstr(std::string("      fix: ")),
                             HasSubstr(c.fix), HasSubstr("FAIL  sandbox: cannot be made")))
        << c.setup << r.err;
    const auto json = run_after(c.setup, "doctor --json");
    EXPECT_EQ(json.status, 1);
    EXPECT_EQ(nlohmann::json::parse(json.out)["ok"], false);
  }
}

TEST_F(Doctor, DirectoriesThatAreNotThere) {
  const auto fresh = run("doctor", "XDG_STATE_HOME=");
  const auto state = home.path().string() + "/.local/state/piorch";
  EXPECT_THAT(fresh.out, HasSubstr("ok    state directory: " + state + " (will be made)\n"));
  EXPECT_FALSE(std::filesystem::exists(home.path() / ".local"));

  const auto none = run("doctor", "XDG_RUNTIME_DIR=\"$PWD/none\"");
  const auto parent = home.path().string() + "/none";
  EXPECT_THAT(none.out, AllOf(HasSubstr("warn  runtime directory: " + parent + ": does not exist"),
                              HasSubstr("fix: make it: mkdir -p -m 700 " + parent + "\n"),
                              testing::Not(HasSubstr("mv "))));

  home.write("file", "");
  const auto blocked = run("doctor", "XDG_STATE_HOME=\"$PWD/file/below\"");
  EXPECT_THAT(blocked.out,
              AllOf(HasSubstr("warn  state directory: "), HasSubstr("fix: export XDG_STATE_HOME="),
                    testing::Not(HasSubstr("XDG_RUNTIME_DIR"))));
}

TEST_F(Doctor, ConfigurationThatIsNotUnderstood) {
  home.write(trusted, R"({"limits":{"proceses":5}})");
  const auto r = run("doctor");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("FAIL  configuration: "));
  EXPECT_THAT(r.out, HasSubstr("limits.proceses"));
  EXPECT_THAT(r.out, HasSubstr("ok    sandbox: made")) << "the machine itself is able to";
}

TEST_F(Doctor, InstallationWithoutItsHelpers) {
  std::filesystem::create_directory(home.path() / "bin");
  std::filesystem::copy(PIORCH_BUILD_DIR "/bin/piorch", home.path() / "bin/piorch");
  const auto r = run("doctor", "sh -c 'shift; exec \"$PWD/bin/piorch\" \"$@\"' sh");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("FAIL  helpers: piorch-init, piorch-broker missing in "));
}

TEST_F(Doctor, ACallerThatIgnoresItsChildren) {
  const auto r = run("doctor", "bash -c 'trap \"\" CHLD; exec \"$@\"' bash");
  EXPECT_EQ(r.status, 0) << r.out;
}

// A program in the directory that is asked about is never run, nor believed.
TEST_F(Doctor, RunsNothingOfTheWorkspace) {
  for (const char* name : {"node", "pi", "bwrap"}) {
    const std::string file = home.write(name, "#!/bin/sh\ntouch \"$HOME/ran\"\necho v99\n");
    std::filesystem::permissions(file, std::filesystem::perms::all);
  }
  const auto r = run("doctor", "PATH=\"$PWD:$PATH\"");
  EXPECT_EQ(r.status, 0) << r.out;
  EXPECT_FALSE(std::filesystem::exists(home.path() / "ran"));
  EXPECT_EQ(r.out.find("v99"), std::string::npos);
  EXPECT_EQ(r.out.find(home.path().string() + "/node"), std::string::npos);
}

} // namespace
} // namespace piorch::cli
