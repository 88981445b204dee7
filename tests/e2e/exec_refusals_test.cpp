// What cannot be done is refused with one line, the right status, and nothing has run.
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class E2eExecRefusals : public testing::Test {
protected:
  void refuses(const program& p, const std::string& sentence, int status = 125) const {
    const auto r = run(p);
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, StartsWith("piorch exec: "));
    EXPECT_THAT(r.err, HasSubstr(sentence));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_FALSE(fs::exists(w.project() / "ran"));
    EXPECT_TRUE(fs::is_empty(w.host_temp()));
  }
  program touching(std::vector<std::string> options = {}) const {
    return w.exec("touch ran", std::move(options));
  }
  // `piorch exec` after `preparation` in namespaces of its own.
  program prepared(const std::string& preparation) const {
    return w.host({"unshare", "-Urm", "--propagation", "private", "sh", "-c",
                   preparation + " && exec '" + piorch_program() + "' exec -c 'touch ran'"});
  }

  workspace w;
};

TEST_F(E2eExecRefusals, WrongOptions) {
  refuses(touching({"--frobnicate"}), "unknown option --frobnicate");
  refuses(w.piorch({"exec"}), "no command");
  refuses(w.piorch({"exec", "--"}), "no command");
  refuses(w.piorch({"exec", "touch", "ran"}), "put -- before the command");
  refuses(touching({"--timeout", "soon"}), "--timeout");
  refuses(touching({"--env", "=x"}), "NAME=VALUE");
  refuses(touching({"--env", "A B=c"}), "\"A B\" cannot be the name of a variable");
  refuses(touching({"--report", "-"}), "a file is needed");
  refuses(touching({"--report", "/"}), "cannot write the report /: Is a directory");
  refuses(touching({"--allow-read", "nowhere"}), "--allow-read nowhere: No such file");
  for (const char* port : {"0", "65536", "41080", "41081", "http"})
    refuses(touching({"--allow-local-port", port}), std::string("--allow-local-port"));
}

TEST_F(E2eExecRefusals, FromInsideASandbox) {
  const std::string piorch = PIORCH_BUILD_DIR "/bin/piorch";
  const auto out = run(
      w.exec(piorch + " exec -- touch ran; echo status=$?; " + piorch + " status; echo status=$?"));
  EXPECT_EQ(out.out, "status=125\nstatus=4\n");
  EXPECT_NE(out.err.find("the inside of a sandbox already"), std::string::npos) << out.err;
  EXPECT_NE(out.err.find("from inside a sandbox no orchestrator"), std::string::npos) << out.err;
  EXPECT_FALSE(std::filesystem::exists(w.project() / "ran"));
}

TEST_F(E2eExecRefusals, DirectoriesThatCannotBeTheWorkspace) {
  refuses(touching({"-C", "nowhere"}), "no such directory");
  refuses(touching({"-C", "README.md"}), "not a directory");
  for (const std::string& path :
       {std::string("/"), w.home().string(), w.top().string(), std::string("/proc/self"),
        std::string("/dev"), w.host_temp().string(), std::string("..")})
    refuses(touching({"-C", path}), "cannot be the workspace");
  refuses(touching({"-C", "/usr/bin"}), "cannot be the workspace: ");
}

TEST_F(E2eExecRefusals, AnUnreadableDirectory) {
  const auto closed = w.project() / "closed";
  fs::create_directories(closed / "below");
  fs::permissions(closed, fs::perms::none);
  if (::geteuid() != 0) // nothing is closed to root
    refuses(touching({"-C", "closed/below"}), "closed/below as the workspace: Permission denied");
  fs::permissions(closed, fs::perms::all);
}

TEST_F(E2eExecRefusals, ACurrentDirectoryBelowAClosedOne) {
  const auto p =
      w.host({"sh", "-c",
              "mkdir -p closed/below && cd closed/below && chmod 0 .. && '" + piorch_program() +
                  "' exec -c 'touch ran'; s=$?; "
                  "chmod 755 \"$OLDPWD/closed\"; exit $s"});
  if (::geteuid() != 0)
    refuses(p, "cannot use . as the workspace: Permission denied");
}

TEST_F(E2eExecRefusals, AConfigurationThatIsNotUnderstood) {
  w.configure("{\"network\": ");
  refuses(touching(), "config.json");
  w.configure(R"sh({"network": {"allowedDomain": []}})sh");
  refuses(touching(), "network.allowedDomain");
  w.configure(R"sh({"subagents": {"provider": "else"}})sh");
  refuses(touching(), "subagents.provider");
  w.configure(R"sh({"network": {"allowedLocalPorts": [8080, 41081]}})sh");
  refuses(touching(), "41081 is the port of a sandbox's own proxy");
  w.configure(R"sh({"limits": {"processes": "many"}})sh");
  refuses(touching(), "limits.processes");
  w.configure("{}");
  write_file(w.home() / ".pi/agent/pi-sandbox.json", "not looked at");
  EXPECT_EQ(run(touching()).status, 0);
}

TEST_F(E2eExecRefusals, TheLegacyConfigurationCountsToo) {
  write_file(w.home() / ".pi/agent/pi-sandbox.json", "[]");
  refuses(touching(), "pi-sandbox.json");
}

TEST_F(E2eExecRefusals, NoBubblewrap) {
  refuses(prepared("for b in /usr/bin/bwrap /usr/local/bin/bwrap /bin/bwrap; do test ! -e $b || "
                   "mount --bind /dev/null $b; done"),
          "bubblewrap is not installed; install it with: apt-get install bubblewrap");
}

TEST_F(E2eExecRefusals, NoUserNamespaces) {
  refuses(prepared("echo 0 > /proc/sys/user/max_user_namespaces"), "user namespaces are forbidden");
}

// Another sandbox in the same workspace changes it after piorch has looked at it and before the
// mounts are made. bubblewrap starts while piorch still looks, so it waits a little; what comes
// before the look is seen, and then it is tried again.
TEST_F(E2eExecRefusals, WhatIsReplacedBeforeItsMountIsMade) {
  const auto key = w.project() / "deploy/server.key";
  write_file(key, "secret");
  const auto with_change = [&](const std::string& change) {
    write_file(w.top() / "shim", "#!/bin/sh\ncase $1 in --version) ;; *) sleep 0.2; cd '" +
                                     w.project().string() + "'; " + change + ";; esac\nexec '" +
                                     w.top().string() + "/real' \"$@\"\n");
    fs::permissions(w.top() / "shim", fs::perms::owner_all);
    return run(prepared("cp /usr/bin/bwrap '" + w.top().string() + "/real' && mount --bind '" +
                        w.top().string() + "/shim' /usr/bin/bwrap"));
  };
  int tries = 20;
  for (; tries > 0; --tries) {
    const auto r = with_change("mv deploy ../was; ln -s /etc deploy");
    fs::remove(w.project() / "deploy");
    fs::rename(w.project().parent_path() / "was", w.project() / "deploy");
    if (r.status == 125) {
      EXPECT_THAT(r.err, HasSubstr("cannot protect deploy/server.key"));
      break;
    }
    fs::remove(w.project() / "ran");
  }
  EXPECT_GT(tries, 0) << "never in between";
  EXPECT_FALSE(fs::exists(w.project() / "ran"));
  // What is gone is as if it had not been there.
  EXPECT_EQ(with_change("mv deploy ../was").status, 0);
  EXPECT_TRUE(fs::remove(w.project() / "ran"));
  EXPECT_EQ(read_file(w.project() / "../was/server.key"), "secret");
  // The workspace is the directory that was looked at, whatever has its name by now.
  for (; tries > 0; --tries) {
    const auto r = with_change("mv ../project ../old; mkdir ../project");
    EXPECT_TRUE(fs::is_empty(w.project()));
    fs::remove(w.project());
    fs::rename(w.project().parent_path() / "old", w.project());
    if (r.status == 0)
      break;
  }
  EXPECT_TRUE(fs::exists(w.project() / "ran"));
}

TEST_F(E2eExecRefusals, AReportThatCannotBeWritten) {
  refuses(touching({"--report", "nowhere/report.json"}), "nowhere/report.json");
  refuses(touching({"--report", "src"}), "src");
  const auto victim = w.top() / "outside/file";
  fs::create_symlink(victim, w.project() / "planted.json");
  refuses(touching({"--report", "planted.json"}), "a link is in the way");
  fs::create_directory_symlink(victim.parent_path(), w.project() / "planted");
  refuses(touching({"--report", "planted/new.json"}), "a link is in the way");
  EXPECT_EQ(read_file(victim), "outside");
  EXPECT_EQ(snapshot(victim.parent_path()).size(), 1u);
}

TEST_F(E2eExecRefusals, NothingOfOursRunsThroughTheWorkspaceOrTheEnvironment) {
  for (const char* name : {"bwrap", "bash", "sh", "piorch-init", "piorch-broker"}) {
    write_file(w.project() / "bin" / name,
               "#!/bin/sh\ntouch " + (w.home() / "ran").string() + "\n");
    fs::permissions(w.project() / "bin" / name, fs::perms::all);
  }
  write_file(w.project() / "rc", "touch " + (w.home() / "ran").string() + "\n");
  program p = w.exec("echo ok");
  p.environment["PATH"] = (w.project() / "bin").string() + ":" + std::getenv("PATH");
  p.environment["BASH_ENV"] = p.environment["ENV"] = (w.project() / "rc").string();
  p.environment["LD_PRELOAD"] = std::nullopt;
  EXPECT_EQ(run(p).status, 0);
  EXPECT_FALSE(fs::exists(w.home() / "ran"));
}

} // namespace
} // namespace piorch::test
