// However a command ends, and whoever is killed: within a second every process of
// it is gone, and nothing is left on disk.
#include "tests/support/workspace.hpp"

#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {
namespace {

using testing::IsEmpty;

// For a busy machine. The contract's second has a test of its own.
constexpr milliseconds gone_limit{10'000};

class E2eExecEnd : public testing::Test {
protected:
  // Daemons that changed session, ignore every signal they can and keep stdout open;
  // `mark` is in their command lines.
  std::string with_daemons(const std::string& then) const {
    return "for how in setsid nohup exec; do ( trap '' TERM INT HUP QUIT USR1; $how bash -c 'exec "
           "-a " +
           mark + " sleep 1000' & )\ndone\n(setsid bash -c 'trap \"\" TERM; exec -a " + mark +
           "-quiet sleep 1000' >/dev/null 2>&1 </dev/null &)\n"
           "while test $(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '^" +
           mark + "') -lt 4; do :; done\necho READY\n" + then;
  }

  // Also those that hold nothing that a test could wait for.
  void no_process_left() {
    for (const pid_t pid : processes_with(mark)) {
      const auto fd = watch_process(pid);
      EXPECT_TRUE(!fd || wait_readable(fd.get(), gone_limit)) << name_of_process(pid);
    }
    EXPECT_THAT(processes_with(mark), IsEmpty());
  }

  // Everything that must hold when it is over.
  void nothing_left() {
    no_process_left();
    EXPECT_TRUE(std::filesystem::is_empty(w.host_temp()));
    EXPECT_EQ(snapshot(w.project()), before);
    EXPECT_EQ(w.host_output({"git", "status", "--porcelain"}), status_before);
  }

  // Starts, waits for the daemons, does something, and measures the end.
  finished end_by(const std::string& then, const std::vector<std::string>& options,
                  const std::function<void(child&)>& act, milliseconds limit = gone_limit) {
    child c(w.exec(with_daemons(then), options));
    EXPECT_TRUE(c.read_until("READY\n")) << c.finish().err;
    EXPECT_EQ(w.host_output({"git", "status", "--porcelain"}), status_before)
        << "seen while it runs";
    EXPECT_EQ(snapshot(w.project()), before) << "seen while it runs";
    const auto from = clock::now();
    act(c);
    EXPECT_TRUE(c.read_to_end(limit)) << "somebody still holds stdout";
    auto done = c.finish();
    EXPECT_LE(clock::now() - from, limit);
    EXPECT_FALSE(done.overdue);
    return done;
  }

  workspace w;
  const std::string mark = "piorch-test-daemon-" + w.top().filename().string();
  const std::map<std::string, std::string> before = snapshot(w.project());
  const std::string status_before = w.host_output({"git", "status", "--porcelain"});
};

TEST_F(E2eExecEnd, TheCommandsOwn) {
  EXPECT_EQ(end_by("read go; exit 3", {}, [](child&) {}).status, 3);
  nothing_left();
}

TEST_F(E2eExecEnd, ATimeLimit) {
  // Generous to the start, strict to the end: what is left of it counts too.
  const auto done = end_by(
      "trap '' TERM; while :; do sleep 1000; done", {"--timeout", "5"}, [](child&) {},
      milliseconds(5000) + gone_limit);
  EXPECT_EQ(done.status, 124);
  nothing_left();
}

TEST_F(E2eExecEnd, SigtermOfPiorch) {
  const auto done = end_by("sleep 1000", {}, [](child& c) { c.send(SIGTERM); });
  EXPECT_EQ(done.status, 128 + SIGTERM);
  nothing_left();
}

TEST_F(E2eExecEnd, SighupOfPiorch) {
  const auto done = end_by("trap '' TERM HUP; while :; do sleep 1000; done", {},
                           [](child& c) { c.send(SIGHUP); });
  EXPECT_EQ(done.status, 128 + SIGHUP) << "whatever it took to end it";
  nothing_left();
}

TEST_F(E2eExecEnd, GoneWithinASecondOfTheSignal) {
  auto best = clock::duration::max();
  for (int round = 0; round < 5 && best >= milliseconds(1000); ++round) {
    auto from = clock::now();
    end_by("trap '' TERM HUP; while :; do sleep 1000; done", {}, [&](child& c) {
      from = clock::now();
      c.send(SIGTERM);
    });
    best = std::min(best, clock::now() - from);
  }
  EXPECT_LT(best, milliseconds(1000));
  nothing_left();
}

TEST_F(E2eExecEnd, ACommandMayCleanUpAfterSigterm) {
  const auto done = end_by("trap 'echo cleaned; exit 5' TERM; while :; do read -t 0.1; done", {},
                           [](child& c) { c.send(SIGTERM); });
  EXPECT_EQ(done.out, "READY\ncleaned\n");
  EXPECT_EQ(done.status, 5);
  nothing_left();
}

TEST_F(E2eExecEnd, SigintGoesToTheCommandOnly) {
  const auto done = end_by("trap 'echo interrupted; exit 6' INT; while :; do read -t 0.1; done", {},
                           [](child& c) { c.send(SIGINT); });
  EXPECT_EQ(done.out, "READY\ninterrupted\n");
  EXPECT_EQ(done.status, 6);
  nothing_left();
}

// What a killed broker leaves on disk is removed by the next start.
TEST_F(E2eExecEnd, SigkillOfPiorch) {
  EXPECT_EQ(end_by("sleep 1000", {}, [](child& c) { c.send(SIGKILL); }).status, 128 + SIGKILL);
  no_process_left();
  EXPECT_EQ(run(w.exec("echo next")).out, "next\n");
  nothing_left();
}

TEST_F(E2eExecEnd, SigkillOfBubblewrap) {
  const auto done = end_by("sleep 1000", {}, [](child& c) {
    const auto children = children_of(c.pid());
    ASSERT_EQ(children.size(), 1u);
    ASSERT_EQ(name_of_process(children[0]), "bwrap");
    ::kill(children[0], SIGKILL);
  });
  EXPECT_EQ(done.status, 128 + SIGKILL);
  nothing_left();
}

TEST_F(E2eExecEnd, SigkillOfPid1) {
  const auto done = end_by("sleep 1000", {}, [](child& c) {
    const auto bwrap = children_of(c.pid());
    ASSERT_EQ(bwrap.size(), 1u);
    const auto init = children_of(bwrap[0]);
    ASSERT_EQ(init.size(), 1u);
    ASSERT_EQ(name_of_process(init[0]), "piorch-init");
    ::kill(init[0], SIGKILL);
  });
  EXPECT_EQ(done.status, 128 + SIGKILL);
  nothing_left();
}

TEST_F(E2eExecEnd, SigkillAtAnyMomentOfTheStart) {
  // Not a wait for something to happen: each round cuts at another moment.
  for (int cut = 0; cut < 30; ++cut) {
    child c(w.exec("exec -a " + mark + " sleep 1000"));
    wait_readable(watch_process(c.pid()).get(), milliseconds(cut));
    c.send(SIGKILL);
    EXPECT_TRUE(c.read_to_end(gone_limit)) << "after " << cut << " ms";
    c.finish();
  }
  no_process_left();
  run(w.exec("true"));
  nothing_left();
}

TEST_F(E2eExecEnd, ABackgroundProcessDoesNotKeepTheCallerWaiting) {
  const auto r = run(w.exec("sleep 1000 & echo done"), milliseconds(20000));
  EXPECT_EQ(r.out, "done\n");
  EXPECT_FALSE(r.overdue);
}

TEST_F(E2eExecEnd, TheMountsOfTheHostStayAsTheyAre) {
  const auto mounts = read_file("/proc/self/mountinfo");
  child c(w.exec("echo READY; read go", {}));
  ASSERT_TRUE(c.read_until("READY\n"));
  EXPECT_EQ(read_file("/proc/self/mountinfo"), mounts);
  c.finish();
  EXPECT_EQ(read_file("/proc/self/mountinfo"), mounts);
}

} // namespace
} // namespace piorch::test
