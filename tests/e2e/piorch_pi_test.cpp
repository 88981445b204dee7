// piorch-pi by itself: what it passes on and what it refuses; workers of workers.
#include "tests/e2e/piorch_pi_fixture.hpp"

#include <fcntl.h>

namespace piorch::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using E2ePiorchPi = piorch_pi_fixture;

TEST_F(E2ePiorchPi, PassesWordsAndStatusOnAndSaysHowItEnded) {
  auto p = rig.worker("printf '<%s>' \"$@\"; exit 7", {"-p", "a b", "", "Task: $(x) \"'\n\xff"});
  const auto done = run(p);
  EXPECT_EQ(done.out, "<-p><a b><><Task: $(x) \"'\n\xff>");
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.status, 7);
  const auto registered = rig.supervisor.frame("register");
  EXPECT_EQ(registered["capability"], rig.capability);
  EXPECT_EQ(registered["cwd"], rig.w.project().string());
  EXPECT_EQ(registered["agent"], "hand");
  const auto end = rig.supervisor.frame("unregister");
  EXPECT_EQ(end["workerId"], registered["workerId"]);
  EXPECT_EQ(end["exitCode"], 7);
  EXPECT_THAT(litter(), IsEmpty());
}

TEST_F(E2ePiorchPi, StreamsAreTheCallersOwnDescriptors) {
  // B16: a line of 16 MiB and a megabyte of errors, every byte.
  const auto done = run(rig.worker("head -c 16777216 /dev/zero | tr '\\0' x; echo; "
                                   "head -c 1048576 /dev/zero | tr '\\0' e >&2"));
  EXPECT_EQ(done.out_bytes, 16777217u);
  EXPECT_EQ(done.err.size(), 1048576u);
  EXPECT_EQ(done.err.find_first_not_of('e'), std::string::npos);
}

TEST_F(E2ePiorchPi, ClosesEveryOtherDescriptor) {
  auto p = rig.worker("ls /proc/self/fd | tr '\\n' ' '");
  const ipc::unique_fd outside(::open((rig.w.top() / "outside").c_str(), O_RDONLY | O_CLOEXEC));
  const ipc::unique_fd high(::fcntl(outside.get(), F_DUPFD_CLOEXEC, 200));
  p.extra_fds = {outside.get(), high.get()};
  EXPECT_EQ(run(p).out, "0 1 2 3 "); // 3 is ls's own
}

TEST_F(E2ePiorchPi, RefusesWhatIsNoWorker) {
  auto p = rig.worker("echo ran");
  p.environment["PI_SUBAGENT_CHILD"] = std::nullopt;
  refuses(p, "PI_SUBAGENT_CHILD");
  p.directory = rig.w.host_temp(); // the probe of models
  refuses(p, "PI_SUBAGENT_CHILD");
  EXPECT_THAT(rig.supervisor.frames(), IsEmpty());
}

TEST_F(E2ePiorchPi, RefusesWithoutASupervisorOrARealPi) {
  const auto without = [&](const char* name, std::optional<std::string> value) {
    auto p = rig.worker("echo ran");
    p.environment[name] = std::move(value);
    return p;
  };
  refuses(without("PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET", std::nullopt), "no supervisor");
  refuses(without("PI_SANDBOX_EXTERNAL_SUPERVISOR_CAPABILITY", std::nullopt), "no supervisor");
  refuses(without("PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET", rig.w.top() / "nobody"),
          "cannot be reached");
  refuses(without("PI_SANDBOX_EXTERNAL_REAL_PI_BINARY", std::nullopt), "REAL_PI_BINARY");
  refuses(without("PI_SANDBOX_EXTERNAL_REAL_PI_BINARY", "bash"), "REAL_PI_BINARY");
  refuses(without("PI_SANDBOX_EXTERNAL_REAL_PI_BINARY", rig.piorch_pi()), "piorch-pi itself");
  refuses(without("PI_SANDBOX_EXTERNAL_REAL_PI_PREFIX", "[1]"), "REAL_PI_PREFIX");
  std::filesystem::create_directory_symlink(rig.agent_dir(), rig.w.home() / "linked");
  refuses(without("PI_CODING_AGENT_DIR", rig.w.home() / "linked"), "set PI_CODING_AGENT_DIR to");
  rig.w.configure("{\"network\": 1}");
  refuses(rig.worker("echo ran"), "network");
}

TEST_F(E2ePiorchPi, ANestedWorkerIsConfinedByTheSameWallsAndCounts) {
  const auto done =
      run(rig.worker("if [ -z \"$NESTED\" ]; then NESTED=1 PI_SUBAGENT_CHILD_AGENT=inner "
                     "\"$PI_SUBAGENT_PI_BINARY\" --nested; exit $?; fi; echo \"$1\"; "
                     "cat ~/notes.txt; ls /proc/self/fd | tr '\\n' ' '; exit 5"));
  EXPECT_THAT(done.out, HasSubstr("--nested\n"));
  EXPECT_THAT(done.out, Not(HasSubstr("private")));
  EXPECT_THAT(done.out, HasSubstr("0 1 2 3 ")); // its seat is not inherited
  EXPECT_EQ(done.status, 5) << done.err;
  std::vector<json> registered;
  for (const auto& f : rig.supervisor.frames())
    if (f["type"] == "register")
      registered.push_back(f);
  ASSERT_EQ(registered.size(), 2u);
  EXPECT_EQ(registered[1]["parent"], registered[0]["workerId"]);
  EXPECT_EQ(registered[1]["agent"], "inner");
}

// As some supervisors of processes leave it to what they start: then nobody can be waited for.
TEST_F(E2ePiorchPi, ANestedWorkerOfACallerThatIgnoresItsChildrenEndsToo) {
  const auto done = run(rig.worker("if [ -z \"$NESTED\" ]; then trap '' CHLD; NESTED=1 exec "
                                   "\"$PI_SUBAGENT_PI_BINARY\" --nested; fi; exit 5"));
  EXPECT_EQ(done.status, 5) << done.err;
}

TEST_F(E2ePiorchPi, AVariableAloneIsNoSandbox) {
  auto p = rig.worker("cat ~/notes.txt");
  p.environment["PIORCH_SANDBOX"] = "1";
  EXPECT_THAT(run(p).out, Not(HasSubstr("private")));
}

} // namespace
} // namespace piorch::test
