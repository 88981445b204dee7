// Accidents end a sandbox, not the machine; and many sandboxes do not disturb each other.
#include "sandbox/memory_group.hpp"
#include "tests/support/workspace.hpp"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace piorch::test {
namespace {

using testing::HasSubstr;

class E2eExecLimits : public testing::Test {
protected:
  workspace w;
};

TEST_F(E2eExecLimits, AForkBombEndsInTheSandbox) {
  w.configure(R"sh({"limits": {"processes": 400}})sh");
  w.add_helper();
  const auto r = run(w.exec("./test-helper fork 2000"));
  std::istringstream said(r.out);
  int count = 0;
  std::string error;
  said >> count >> error;
  EXPECT_GT(count, 200) << r.err;
  EXPECT_LT(count, 400);
  EXPECT_EQ(error, "EAGAIN");
  EXPECT_FALSE(r.overdue);
}

TEST_F(E2eExecLimits, ALeakEndsInTheSandbox) {
  w.configure(R"sh({"limits": {"memoryMiB": 64}})sh");
  w.add_helper();
  EXPECT_THAT(run(w.exec("./test-helper leak 32; ./test-helper leak 100")).out, "ok\nENOMEM\n");
}

// One process alone meets its own limit; this is for the sum of several.
TEST_F(E2eExecLimits, ManyThatLeakTogetherAreEndedWithAReason) {
  if (sandbox::writable_memory_parent().empty())
    GTEST_SKIP() << "no memory cgroup may be made here";
  w.configure(R"sh({"limits": {"memoryMiB": 64}})sh");
  const auto r = run(w.exec("sleep 1; for i in 1 2 3; do (head -c 45M /dev/zero; sleep 2) | tail | "
                            "wc -c & done; wait; echo over",
                            {"--report", "report.json"}));
  EXPECT_THAT(r.out, HasSubstr("over\n")) << "the others go on";
  EXPECT_THAT(r.err, HasSubstr("limit of 64 MiB of memory (limits.memoryMiB in "));
  EXPECT_THAT(read_file(w.project() / "report.json"), HasSubstr("\"outOfMemory\":true"));
}

TEST_F(E2eExecLimits, TheMemoryGroupOfAKilledOneIsRemovedByTheNext) {
  const std::string parent = sandbox::writable_memory_parent();
  if (parent.empty())
    GTEST_SKIP() << "no memory cgroup may be made here";
  child killed(w.exec("sleep 100"));
  const auto group = std::filesystem::path(parent) / ("piorch-" + std::to_string(killed.pid()));
  for (int i = 0; i < 500 && !std::filesystem::exists(group); ++i)
    ::usleep(10'000);
  ASSERT_TRUE(std::filesystem::exists(group));
  killed.send(SIGKILL);
  killed.finish();
  for (int i = 0; i < 5 && std::filesystem::exists(group); ++i) // what was in it ends meanwhile
    run(w.exec("sleep 0.4"));
  EXPECT_FALSE(std::filesystem::exists(group));
}

TEST_F(E2eExecLimits, HardlyAnyMemoryIsNamedWhenTheCommandFails) {
  const std::string note = "piorch exec: it had no more than 1 MiB of memory, which is too little "
                           "for many programs (limits.memoryMiB in ";
  w.configure(R"sh({"limits": {"memoryMiB": 1}})sh");
  EXPECT_THAT(run(w.exec("exit 3")).err, HasSubstr(note));
  EXPECT_EQ(run(w.exec("exit 0")).err, "");
  w.configure(R"sh({"limits": {"memoryMiB": 64}})sh");
  EXPECT_EQ(run(w.exec("exit 3")).err, "");
}

TEST_F(E2eExecLimits, NoCoreFiles) {
  EXPECT_EQ(run(w.exec("ulimit -c; ulimit -c unlimited 2>/dev/null || echo no")).out, "0\nno\n");
}

TEST_F(E2eExecLimits, TwelveCommandsInOneWorkspace) {
  const auto before = snapshot(w.project() / ".git/hooks");
  std::vector<child> all;
  for (int i = 0; i < 12; ++i) {
    program p = w.exec("echo READY; read go; { echo evil > .env; } 2>/dev/null && echo BROKEN; "
                       "{ echo evil > .git/hooks/pre-commit; } 2>/dev/null && echo BROKEN; "
                       "mv app x 2>/dev/null && echo BROKEN; echo mine > file-" +
                       std::to_string(i) + "; ls -A $TMPDIR/.. | wc -l");
    p.keep_input_open = true;
    all.emplace_back(p);
  }
  for (child& c : all)
    ASSERT_TRUE(c.read_until("READY\n"));
  const std::string during = w.host_output({"git", "status", "--porcelain", "-uno"});
  EXPECT_EQ(during, "");
  // One after the other ends; the others are still protected.
  for (child& c : all) {
    c.write("\n");
    const auto r = c.finish();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "READY\n1\n") << "no BROKEN, and nobody else's directory is seen";
  }
  EXPECT_EQ(read_file(w.project() / ".env"), "original .env\n");
  EXPECT_EQ(snapshot(w.project() / ".git/hooks"), before);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(read_file(w.project() / ("file-" + std::to_string(i))), "mine\n");
  EXPECT_TRUE(std::filesystem::is_empty(w.host_temp()));
}

} // namespace
} // namespace piorch::test
