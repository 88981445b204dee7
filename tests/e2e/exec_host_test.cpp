// Commands of `piorch exec` on the host (contract, section 9): a tmux server and an ssh-agent of
// the test's own, behind sockets that no sandbox reaches.
#include "tests/support/terminal.hpp"
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* question = "ON THE HOST";
constexpr const char* anything_else = "Anything else is no: ";
constexpr const char* marker = "piorch: allowed to run again, now on the host:";

class E2eExecHost : public testing::Test {
protected:
  void SetUp() override {
    w.configure(R"({"hostIPC": {"mode": "ask", "preflightCommandPrefixes": ["tmux", "sh -c"],
                                "retryOnUnixSocketError": true}})");
  }
  json report() const { return json::parse(read_file(w.project() / "report")); }

  workspace w;
};

class E2eExecHostTmux : public E2eExecHost {
protected:
  void SetUp() override {
    E2eExecHost::SetUp();
    socket = w.top() / "tmux";
    if (run(tmux({"new-session", "-d", "-s", "mine", "sleep 1000"})).status == 0)
      return;
    if (std::getenv("PIORCH_MUST_WORK"))
      FAIL() << "tmux does not start";
    GTEST_SKIP() << "tmux does not start";
  }
  void TearDown() override { run(tmux({"kill-server"})); }
  program tmux(std::vector<std::string> words) const {
    words.insert(words.begin(), {"tmux", "-S", socket, "-f", "/dev/null"});
    auto p = w.host(std::move(words));
    p.environment["TMUX"] = std::nullopt;
    return p;
  }
  program exec_tmux(std::vector<std::string> options, std::vector<std::string> words) const {
    options.insert(options.begin(), "exec");
    options.insert(options.end(), {"--", "tmux", "-S", socket});
    options.insert(options.end(), words.begin(), words.end());
    return w.piorch(std::move(options));
  }
  std::string socket;
};

TEST_F(E2eExecHostTmux, APrefixRunsThereOnceApproved) {
  terminal t(exec_tmux({"--report", "report", "--env", "A=b c"}, {"list-sessions", "-F", "#S is"}),
             24, 300);
  ASSERT_TRUE(t.sees(question)) << t.screen();
  EXPECT_TRUE(t.sees("command: tmux -S " + socket + " list-sessions -F '#S is'")) << t.screen();
  EXPECT_TRUE(t.sees("in: " + w.project().string())) << t.screen();
  EXPECT_TRUE(t.sees("with: 'A=b c'")) << t.screen();
  EXPECT_TRUE(t.sees("by: hostIPC.preflightCommandPrefixes: tmux")) << t.screen();
  ASSERT_TRUE(t.sees(anything_else));
  t.type("on the host\n");
  EXPECT_TRUE(t.sees("mine is")) << t.screen();
  EXPECT_EQ(t.end(), 0) << t.screen();
  EXPECT_EQ(report()["ranOnHost"], true);
  EXPECT_EQ(report()["exitCode"], 0);
}

TEST_F(E2eExecHostTmux, AnythingElseIsNoAndRunsNothing) {
  for (const std::string typed : {"yes\n", "on the hos\n", "\n", "\x03", "\x04"}) {
    terminal t(exec_tmux({}, {"rename-session", "-t", "mine", "other"}));
    ASSERT_TRUE(t.sees(anything_else)) << t.screen();
    t.type(typed);
    EXPECT_TRUE(t.sees("not allowed: the user said no")) << t.screen();
    EXPECT_EQ(t.end(), 125) << typed;
  }
  EXPECT_EQ(run(tmux({"has-session", "-t", "mine"})).status, 0);
}

TEST_F(E2eExecHostTmux, WithoutSomebodyToAskItIsRefusedInALine) {
  auto p = exec_tmux({}, {"list-sessions"});
  p.new_session = true;
  const auto r = run(p);
  EXPECT_EQ(r.status, 125);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("not run: it would run on the host, and that was not allowed: it "
                               "begins with \"tmux\" (hostIPC.preflightCommandPrefixes), and there "
                               "is nobody to ask; run it in the foreground of a terminal"));
  terminal t(exec_tmux({"--no-ask"}, {"list-sessions"}), 24, 300);
  EXPECT_TRUE(t.sees("without --no-ask")) << t.screen();
  EXPECT_EQ(t.end(), 125);
}

TEST_F(E2eExecHostTmux, NobodyApprovesWhatCannotBeShown) {
  terminal t(exec_tmux({}, {"display-message", std::string(9000, 'x')}), 24, 300);
  EXPECT_TRUE(t.sees("too long to be shown")) << t.screen();
  EXPECT_EQ(t.end(), 125);
}

TEST_F(E2eExecHostTmux, NoAnswerInTimeIsNo) {
  w.configure(R"({"hostIPC": {"mode": "ask", "preflightCommandPrefixes": ["tmux"]},
                  "approvals": {"timeoutSeconds": 1}})");
  terminal t(exec_tmux({}, {"list-sessions"}), 24, 300);
  EXPECT_TRUE(t.sees("nobody answered in time")) << t.screen();
  EXPECT_EQ(t.end(), 125);
}

class E2eExecHostAgent : public E2eExecHost {
protected:
  void SetUp() override {
    E2eExecHost::SetUp();
    socket = w.top() / "agent";
    agent.emplace(w.host({"ssh-agent", "-D", "-a", socket}));
    if (agent->read_until("SSH_AUTH_SOCK") &&
        run(host("ssh-keygen -q -t ed25519 -N '' -C mine -f ../key && ssh-add -q ../key")).status ==
            0)
      return;
    if (std::getenv("PIORCH_MUST_WORK"))
      FAIL() << "ssh-agent does not start";
    GTEST_SKIP() << "ssh-agent does not start";
  }
  void TearDown() override { agent.reset(); }
  program host(const std::string& script) const { return with_agent(w.host({"sh", "-c", script})); }
  program exec(const std::string& script, std::vector<std::string> options = {}) const {
    return with_agent(w.exec(script, std::move(options)));
  }
  program with_agent(program p) const {
    p.environment["SSH_AUTH_SOCK"] = socket;
    return p;
  }
  std::string socket;
  std::optional<child> agent;
};

TEST_F(E2eExecHostAgent, ARefusedSocketIsRetriedThereOnceApproved) {
  terminal t(exec("read l; echo \"$l\" >>seen; SSH_AUTH_SOCK=" + socket + " ssh-add -l",
                  {"--report", "report"}),
             24, 300);
  t.type("first\n");
  ASSERT_TRUE(t.sees("Operation not permitted")) << t.screen();
  ASSERT_TRUE(t.sees(question)) << t.screen();
  EXPECT_TRUE(
      t.sees("command: read l; echo \"$l\" >>seen; SSH_AUTH_SOCK=" + socket + " ssh-add -l"))
      << t.screen();
  EXPECT_TRUE(t.sees("warning: It has run in the sandbox already")) << t.screen();
  ASSERT_TRUE(t.sees(anything_else));
  t.type("on the host\n");
  ASSERT_TRUE(t.sees(marker)) << t.screen();
  t.type("second\n");
  EXPECT_TRUE(t.sees("mine (ED25519)")) << t.screen();
  EXPECT_EQ(t.end(), 0) << t.screen();
  EXPECT_EQ(read_file(w.project() / "seen"), "first\nsecond\n");
  EXPECT_EQ(report()["ranOnHost"], true);
}

TEST_F(E2eExecHostAgent, ADeniedRetryLeavesTheFirstResult) {
  terminal t(exec("SSH_AUTH_SOCK=" + socket + " ssh-add -l"));
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("no\n");
  EXPECT_TRUE(t.sees("not run again on the host: the user said no")) << t.screen();
  EXPECT_EQ(t.end(), 2);
}

TEST_F(E2eExecHostAgent, ItsInputIsReadAgainOrItIsNotRetried) {
  const std::string command = "exec -c 'cat; SSH_AUTH_SOCK=" + socket + " ssh-add -l' ";
  write_file(w.project() / "input", "skipped\nread\n");
  terminal t(w.interactive_shell(), 24, 300);
  ASSERT_TRUE(t.sees("host$ "));
  t.type("{ read skip; $P " + command + "; } <input\n");
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n");
  ASSERT_TRUE(t.sees(marker)) << t.screen();
  EXPECT_TRUE(t.sees("\nread")) << t.screen();
  EXPECT_TRUE(t.sees("mine (ED25519)")) << t.screen();
  t.type("echo piped | $P " + command + "\n");
  EXPECT_TRUE(t.sees("its input has been read and cannot be read again")) << t.screen();
  t.type("exit 0\n");
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecHostAgent, NothingIsRetriedThatDidNotFailAtASocketByItself) {
  const std::string refused = "echo 'connect: Operation not permitted' >&2; ";
  const std::pair<std::string, int> cases[] = {{refused + "exit 0", 0},
                                               {"echo 'No such file' >&2; exit 1", 1},
                                               {refused + "kill -9 $$", 137},
                                               {refused + "echo go; sleep 1000", 124}};
  for (const auto& [script, status] : cases) {
    terminal t(w.exec(script, {"--timeout", status == 124 ? "1" : "50"}));
    EXPECT_EQ(t.end(), status) << t.screen();
    EXPECT_THAT(t.screen(), Not(HasSubstr(question)));
  }
  auto p = exec("ssh-add -l"); // nobody is there
  p.new_session = true;
  EXPECT_EQ(run(p).status, 2);
  w.configure(R"({"hostIPC": {"mode": "off", "retryOnUnixSocketError": true}})");
  terminal t(w.exec(refused + "exit 1"));
  EXPECT_EQ(t.end(), 1);
  EXPECT_THAT(t.screen(), Not(HasSubstr(question)));
}

// The limit is one for both runs: with a new one it would take thirteen seconds.
TEST_F(E2eExecHostAgent, TheRetryHasTheTimeThatIsLeft) {
  terminal t(w.exec("test -e again && exec sleep 1000; touch again; sleep 5; "
                    "echo 'connect: Operation not permitted' >&2; exit 1",
                    {"--timeout", "8", "--report", "report"}));
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n");
  EXPECT_EQ(t.end(), 124) << t.screen();
  EXPECT_EQ(report()["timedOut"], true);
  EXPECT_LT(report()["durationMs"], 12500);
}

TEST_F(E2eExecHostAgent, StderrStaysATerminalAndAFileAFile) {
  terminal t(w.exec("test -t 2 && stty size <&2; echo one >&2; echo two; echo three >&2"), 31, 97);
  EXPECT_TRUE(t.sees("31 97")) << t.screen();
  EXPECT_EQ(t.end(), 0);
  terminal u(w.interactive_shell());
  u.type("echo before >err; $P exec --ask -c 'echo out; echo one >&2; test -t 2 || echo two >&2' "
         "2>>err; cat err; exit 0\n");
  EXPECT_TRUE(u.sees("out\r\nbefore\r\none\r\ntwo\r\n")) << u.screen();
  EXPECT_EQ(u.end(), 0);
}

// -- a job like any other ------------------------------------------------------------

TEST_F(E2eExecHost, StopContinueAndInterrupt) {
  terminal t(w.interactive_shell());
  ASSERT_TRUE(t.sees("host$ "));
  t.type("$P exec -- sh -c 'while read x; do echo \"got\" $x; done'; echo \"sta\"tus=$?\n");
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n");
  ASSERT_TRUE(t.sees("host\r\n")) << t.screen();
  t.type("one\n");
  ASSERT_TRUE(t.sees("got one")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("exec -- sh")) << t.screen();
  t.type("two\n");
  ASSERT_TRUE(t.sees("got two")) << t.screen();
  t.type("\x03");
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();
  t.type("exit 0\n");
  EXPECT_EQ(t.end(), 0) << t.screen();
}

TEST_F(E2eExecHost, ItsStatusArrivesAlsoWhenTheCallerIgnoresItsChildren) {
  auto p = w.interactive_shell();
  p.argv = {"bash", "-c", "trap '' CHLD; exec $P exec -- sh -c 'exit 7'"};
  terminal t(p);
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n");
  EXPECT_EQ(t.end(), 7) << t.screen();
}

TEST_F(E2eExecHost, AnotherSizeOfTheWindowIsNoAnswer) {
  terminal t(w.piorch({"exec", "--", "sh", "-c", "echo a\"\"nswered"}));
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.resize(30, 100);
  t.type("on the host\n");
  EXPECT_TRUE(t.sees("answered")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

// Below the project, whose other directories a sandboxed command can write.
TEST_F(E2eExecHost, NothingOfTheWorkTreeIsInItsWay) {
  for (const char* name : {"bin", "sub/bin"})
    std::filesystem::create_directories(w.project() / name);
  std::filesystem::create_directories(w.top() / "own");
  std::filesystem::create_directory_symlink(w.project() / "bin", w.top() / "linked");
  auto p = w.piorch({"exec", "-C", w.project() / "sub", "--", "sh", "-c",
                     "echo \"path=$PATH, ld=$LD_BIND_NOT.\""});
  const std::string project = w.project(), top = w.top();
  p.environment["PATH"] =
      project + "/bin:" + project + "/sub/bin:" + top + "/linked:" + top + "/own:.:/usr/bin:/bin";
  p.environment["LD_BIND_NOT"] = "1";
  terminal t(p, 24, 500);
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n");
  EXPECT_TRUE(t.sees("path=" + top + "/own:/usr/bin:/bin, ld=.")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecHost, WhatItStartedEndsWithIt) {
  const std::string mark = "1000." + std::to_string(::getpid());
  for (const bool killed : {true, false}) {
    terminal t(w.piorch({"exec", "--", "sh", "-c", "sleep " + mark + " & echo PI\"\"D; wait"}));
    ASSERT_TRUE(t.sees(anything_else)) << t.screen();
    t.type("on the host\n");
    ASSERT_TRUE(t.sees("PID")) << t.screen();
    // A process that is just becoming another program has no command line for a moment.
    std::vector<pid_t> started;
    for (const auto until = clock::now() + watchdog; started.size() < 2 && clock::now() < until;)
      started = processes_with(mark);
    ASSERT_GE(started.size(), 2u) << "the shell and what it has started";
    std::vector<ipc::unique_fd> watched;
    for (const pid_t pid : started)
      watched.push_back(watch_process(pid));
    ::kill(t.pid(), killed ? SIGKILL : SIGTERM);
    EXPECT_EQ(t.end(), killed ? 137 : 143) << t.screen();
    for (const auto& one : watched)
      EXPECT_TRUE(wait_readable(one.get(), std::chrono::seconds(10)));
  }
}

} // namespace
} // namespace piorch::test
