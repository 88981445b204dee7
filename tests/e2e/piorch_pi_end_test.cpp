// How piorch-pi ends: by itself, by signals, with its parent; nothing is left of it.
#include "tests/e2e/piorch_pi_fixture.hpp"

#include <sys/stat.h>

namespace piorch::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr milliseconds gone_limit{5000}; // a second; the rest is for a busy machine

class E2ePiorchPiEnd : public piorch_pi_fixture {
protected:
  void no_process_left() const {
    for (const pid_t pid : processes_with(mark)) {
      const auto fd = watch_process(pid);
      EXPECT_TRUE(!fd || wait_readable(fd.get(), gone_limit)) << name_of_process(pid);
    }
    EXPECT_THAT(processes_with(mark), IsEmpty());
  }
  // A daemon in a session of its own, deaf to what can be ignored, then READY.
  std::string with_daemon(const std::string& first, const std::string& then) const {
    return first + "\n(setsid bash -c 'trap \"\" TERM INT HUP; exec -a " + mark +
           " sleep 1000' >/dev/null 2>&1 </dev/null &)\nuntil grep -q ^" + mark +
           " /proc/[0-9]*/cmdline 2>/dev/null; do :; done\necho READY\n" + then;
  }

  // A worker with a daemon, which gets the signal when both are there.
  finished signalled(int signal, const std::string& trap) const {
    child c(rig.worker(with_daemon(trap, "while :; do sleep 0.1; done")));
    EXPECT_TRUE(c.read_until("READY\n"));
    c.send(signal);
    auto done = c.finish();
    no_process_left();
    return done;
  }

  std::string mark = "mark-" + std::to_string(::getpid()) + "-" +
                     testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(E2ePiorchPiEnd, DiesOfTheSignalThatEndedPi) {
  EXPECT_EQ(run(rig.worker("kill -SEGV $$")).status, 128 + SIGSEGV);
  EXPECT_EQ(rig.supervisor.frame("unregister")["signal"], SIGSEGV);
}

TEST_F(E2ePiorchPiEnd, OneTermIsEnoughWhateverPiDoes) {
  child c(rig.worker(with_daemon("trap '' TERM INT HUP", "while :; do sleep 1; done")));
  ASSERT_TRUE(c.read_until("READY\n"));
  const auto from = clock::now();
  c.send(SIGTERM);
  const auto done = c.finish();
  EXPECT_LT(clock::now() - from, milliseconds(10000)); // three seconds, on a busy machine
  EXPECT_EQ(done.status, 128 + SIGTERM);
  no_process_left();
  EXPECT_THAT(litter(), IsEmpty());
}

TEST_F(E2ePiorchPiEnd, AGracefulPiLeavesWithItsOwnStatus) {
  const auto done = signalled(SIGTERM, "trap 'echo goodbye; exit 143' TERM");
  EXPECT_THAT(done.out, HasSubstr("goodbye"));
  EXPECT_EQ(done.status, 143);
}

TEST_F(E2ePiorchPiEnd, AnInterruptReachesPi) {
  const auto done = signalled(SIGINT, "trap 'echo interrupted; exit 9' INT");
  EXPECT_THAT(done.out, HasSubstr("interrupted"));
  EXPECT_EQ(done.status, 9);
}

TEST_F(E2ePiorchPiEnd, KilledItselfItLeavesNothingRunning) {
  child c(rig.worker(with_daemon("", "sleep 1000")));
  ASSERT_TRUE(c.read_until("READY\n"));
  c.send(SIGKILL);
  EXPECT_TRUE(c.read_to_end(gone_limit));
  c.finish();
  no_process_left();
  EXPECT_TRUE(rig.supervisor.all_closed());
  EXPECT_EQ(run(rig.worker("echo next")).out, "next\n"); // removes what the killed one left
  EXPECT_THAT(litter(), IsEmpty());
}

TEST_F(E2ePiorchPiEnd, EndsWithItsParent) {
  // A shell in the place of pi-subagents' runner, killed.
  auto p = rig.worker(with_daemon("", "sleep 1000"));
  p.argv.insert(p.argv.begin(), {"bash", "-c", "\"$@\"; true", "runner"});
  child c(p);
  ASSERT_TRUE(c.read_until("READY\n"));
  c.send(SIGKILL);
  EXPECT_TRUE(c.read_to_end(gone_limit));
  c.finish();
  no_process_left();
  EXPECT_TRUE(rig.supervisor.all_closed());
  EXPECT_THAT(litter(), IsEmpty());
}

TEST_F(E2ePiorchPiEnd, AChildThatKeepsTheOutputOpenDelaysNothing) {
  const auto from = clock::now();
  const auto done = run(rig.worker("(setsid sleep 1000 &); echo done"));
  EXPECT_EQ(done.out, "done\n");
  EXPECT_LT(clock::now() - from, milliseconds(20000));
}

TEST_F(E2ePiorchPiEnd, SignalsAndStatusOfANestedWorkerAreItsPis) {
  ASSERT_EQ(::mkfifo((rig.w.project() / "ready").c_str(), 0600), 0);
  const auto done =
      run(rig.worker("if [ -z \"$NESTED\" ]; then NESTED=1 \"$PI_SUBAGENT_PI_BINARY\" & "
                     "read -r line <ready; kill -TERM $!; wait $!; echo \"status $?\"; exit; fi; "
                     "trap 'exit 9' TERM; echo up >ready; while :; do sleep 0.1; done"));
  EXPECT_THAT(done.out, HasSubstr("status 9")) << done.err;
}

TEST_F(E2ePiorchPiEnd, TheSupervisorsGoingEndsNoWorkerButEveryQuestion) {
  auto supervisor = std::make_unique<fake_supervisor>((rig.w.top() / "other.sock").string());
  auto p = rig.worker("echo READY; read -t 100 < <(while [ ! -e go ]; do read -t 0.1; done; echo); "
                      "exec 3<>/dev/tcp/127.0.0.1/41080; printf 'CONNECT host.example.org:443 "
                      "HTTP/1.1\\r\\nHost: host.example.org:443\\r\\n\\r\\n' >&3; head -c 12 <&3; "
                      "echo; echo still here");
  p.environment["PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET"] = supervisor->path();
  child c(p);
  ASSERT_TRUE(c.read_until("READY\n"));
  supervisor.reset();
  write_file(rig.w.project() / "go", "");
  const auto done = c.finish();
  EXPECT_THAT(done.out, HasSubstr("HTTP/1.1 403")) << done.err;
  EXPECT_THAT(done.out, HasSubstr("still here"));
}

} // namespace
} // namespace piorch::test
