// What the caller gets back: status, report, environment, streams; also large ones.
#include "tests/support/workspace.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::test {
namespace {

using testing::HasSubstr;

class E2eExecResult : public testing::Test {
protected:
  int status(std::vector<std::string> words) const {
    words.insert(words.begin(), "exec");
    return run(w.piorch(std::move(words))).status;
  }
  nlohmann::json report(const std::string& script, std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"--report", "report.json"});
    run(w.exec(script, std::move(options)));
    return nlohmann::json::parse(read_file(w.project() / "report.json"));
  }
  // In KiB.
  static long memory_of(pid_t pid, const std::string& what) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(in, line);)
      if (line.compare(0, what.size() + 1, what + ":") == 0)
        return std::atol(line.c_str() + what.size() + 1);
    return 0;
  }

  workspace w;
};

TEST_F(E2eExecResult, ExitStatus) {
  EXPECT_EQ(status({"--", "true"}), 0);
  EXPECT_EQ(status({"-c", "exit 42"}), 42);
  EXPECT_EQ(status({"-c", "exit 255"}), 255);
  EXPECT_EQ(status({"-c", "kill -TERM $$"}), 128 + SIGTERM);
  EXPECT_EQ(status({"-c", "kill -SEGV $$"}), 128 + SIGSEGV);
  EXPECT_EQ(status({"--timeout", "0.2", "--", "sleep", "1000"}), 124);
  EXPECT_EQ(status({"--", "./README.md"}), 126);
  EXPECT_EQ(status({"--", "src"}), 127);
  EXPECT_EQ(status({"--", "./src"}), 126);
  EXPECT_EQ(status({"--", "no-such-program"}), 127);
  EXPECT_EQ(status({"--", "./no-such-program"}), 127);
}

TEST_F(E2eExecResult, WhatCouldNotBeRunIsSaidInOneLine) {
  auto r = run(w.piorch({"exec", "--", "no-such-program"}));
  EXPECT_EQ(r.err, "piorch exec: cannot run no-such-program: No such file or directory\n");
  r = run(w.piorch({"exec", "--", "./README.md"}));
  EXPECT_EQ(r.err, "piorch exec: cannot run ./README.md: Permission denied\n");
}

TEST_F(E2eExecResult, Streams) {
  program p = w.exec("cat; echo out; echo err >&2");
  p.input = "in\n";
  const auto r = run(p);
  EXPECT_EQ(r.out, "in\nout\n");
  EXPECT_EQ(r.err, "err\n");
}

TEST_F(E2eExecResult, Report) {
  auto j = report("exit 3");
  EXPECT_EQ(j["exitCode"], 3);
  EXPECT_TRUE(j["signal"].is_null());
  EXPECT_EQ(j["timedOut"], false);
  EXPECT_GT(j["setupMs"].get<double>(), 0);
  EXPECT_GT(j["durationMs"].get<double>(), 0);
  EXPECT_GE(j["cpuSeconds"].get<double>(), 0);
  EXPECT_GT(j["peakRssBytes"].get<long>(), 1 << 20);
  EXPECT_EQ(j["network"], nlohmann::json::array());
  EXPECT_FALSE(j.contains("error"));

  j = report("kill -KILL $$");
  EXPECT_EQ(j["exitCode"], 137);
  EXPECT_EQ(j["signal"], 9);

  j = report("sleep 1000", {"--timeout", "0.2"});
  EXPECT_EQ(j["exitCode"], 124);
  EXPECT_EQ(j["timedOut"], true);
  EXPECT_GE(j["durationMs"].get<double>(), 200);

  run(w.piorch({"exec", "--report", "report.json", "--", "no-such-program"}));
  j = nlohmann::json::parse(read_file(w.project() / "report.json"));
  EXPECT_EQ(j["exitCode"], 127);
  EXPECT_THAT(j["error"].get<std::string>(), HasSubstr("no-such-program"));
}

TEST_F(E2eExecResult, TheReportIsThePiorchsOwn) {
  // The command may write to the file, it is in its workspace; the last word is ours.
  const auto j = report("yes '{\"exitCode\": 0}' | head -c 100000 > report.json; exit 4");
  EXPECT_EQ(j["exitCode"], 4);
  // Replaced by a link: what was opened is written, and nothing through the link.
  run(w.exec("rm report.json; ln -s ../../outside/file report.json", {"--report", "report.json"}));
  EXPECT_EQ(read_file(w.top() / "outside/file"), "outside");
}

TEST_F(E2eExecResult, AReportThatCannotBeWrittenIsNoSuccess) {
  // A regular file that takes no such text.
  const std::vector<std::string> into = {"--report", "/proc/self/coredump_filter"};
  const auto r = run(w.exec("echo done", into));
  EXPECT_EQ(r.out, "done\n");
  EXPECT_EQ(r.err, "piorch exec: the report could not be written: Invalid argument\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(run(w.exec("exit 7", into)).status, 7) << "the command's own comes first";
}

TEST_F(E2eExecResult, CpuTimeOfTheWholeTreeIsCounted) {
  const auto j = report("(i=0; while test $i -lt 40000; do i=$((i+1)); done)");
  EXPECT_GT(j["cpuSeconds"].get<double>(), 0.01);
}

TEST_F(E2eExecResult, Environment) {
  program p = w.exec("echo \"$A,$B,${PIORCH_X-unset},$PIORCH_SANDBOX\"", {"--env", "B=b=2"});
  p.environment["A"] = "a";
  p.environment["PIORCH_X"] = "secret";
  EXPECT_EQ(run(p).out, "a,b=2,unset,1\n");
  p = w.exec("echo \"${A-unset},$B,$HOME\"; test -n \"$PATH\"", {"--clear-env", "--env", "B=b"});
  p.environment["A"] = "a";
  const auto r = run(p);
  EXPECT_EQ(r.out, "unset,b," + w.home().string() + "\n");
  EXPECT_EQ(r.status, 0);
}

TEST_F(E2eExecResult, DirectoryAndShell) {
  EXPECT_EQ(run(w.exec("pwd", {"-C", "src"})).out, (w.project() / "src").string() + "\n");
  EXPECT_EQ(run(w.exec("echo $0", {"--shell", "/bin/sh"})).out, "/bin/sh\n");
  // A path that is no text, and one with everything that a shell would trip over.
  for (const char* name : {"b\xff\xfe", "a 'b' \"c\" $(d)\nline"}) {
    std::filesystem::create_directory(w.project() / name);
    const auto r = run(w.exec("pwd; touch here", {"-C", name}));
    EXPECT_EQ(r.out, (w.project() / name).string() + "\n") << r.err;
    EXPECT_TRUE(std::filesystem::exists(w.project() / name / "here"));
  }
}

TEST_F(E2eExecResult, SignalsThatTheCallerIgnoresStayIgnored) {
  const auto r =
      run(w.host({"sh", "-c",
                  "trap '' USR1; '" + piorch_program() + "' exec -c 'kill -USR1 $$; echo alive'"}));
  EXPECT_EQ(r.out, "alive\n") << r.err;
}

TEST_F(E2eExecResult, ALongCommandLine) {
  std::vector<std::string> words{
      "exec", "--", "sh", "-c", "for a; do echo $a; done | cksum; echo $#", "sh"};
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    words.push_back(std::string(100, static_cast<char>('a' + i % 26)) + std::to_string(i));
    all += words.back() + "\n";
  }
  ASSERT_GT(all.size(), 200000u);
  program sum = w.host({"cksum"});
  sum.input = all;
  const auto r = run(w.piorch(words));
  EXPECT_EQ(r.out, run(sum).out + "2000\n") << r.err;
}

TEST_F(E2eExecResult, ALargeEnvironment) {
  program p = w.exec("env | grep -c ^BIG; env | grep ^BIG | wc -c");
  for (int i = 0; i < 10; ++i)
    p.environment["BIG" + std::to_string(i)] = std::string(100 << 10, 'x');
  const auto r = run(p);
  EXPECT_EQ(r.out, "10\n" + std::to_string(10 * (6 + (100 << 10))) + "\n") << r.err;
}

TEST_F(E2eExecResult, AGibibyteThroughAPipeCostsNoMemory) {
  program p = w.exec("echo READY; read go; head -c 1G /dev/zero; echo END; read go");
  p.keep_input_open = true;
  child d(p);
  ASSERT_TRUE(d.read_until("READY\n"));
  const auto bwrap = children_of(d.pid());
  ASSERT_EQ(bwrap.size(), 1u);
  const auto init = children_of(bwrap[0]);
  ASSERT_EQ(init.size(), 1u);
  const pid_t ours[] = {d.pid(), bwrap[0], init[0]};
  long peak = 0;
  d.write("\n");
  ASSERT_TRUE(d.read_bytes(std::size_t{1} << 30));
  for (const pid_t pid : ours)
    peak += memory_of(pid, "VmHWM");
  d.write("\n");
  EXPECT_EQ(d.finish().out_bytes, (std::size_t{1} << 30) + 10);
  EXPECT_GT(peak, 0);
  EXPECT_LT(peak, 40 * 1024) << "KiB, programs and libraries included";
}

} // namespace
} // namespace piorch::test
