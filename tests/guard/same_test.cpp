// Programs cannot tell that the guard is there: the same calls give the same results.
#include "tests/guard/workspace.hpp"

#include <gtest/gtest.h>
#include <sstream>

using piorch::test::workspace;

namespace {

std::string run(const workspace& w, std::vector<std::string> command, workspace::guard g) {
  command.insert(command.begin(), "/tmp/guard-villain");
  auto out = w.run(command, g);
  EXPECT_EQ(out.status, 0) << out.output.substr(0, 1000);
  // The workspace's own path may be in the output.
  for (std::size_t at; (at = out.output.find(w.path().string())) != std::string::npos;)
    out.output.replace(at, w.path().string().size(), "W");
  return out.output;
}

void expect_same(const std::vector<std::string>& command,
                 workspace::guard g = workspace::guard::on) {
  const workspace guarded(false), plain(false);
  std::istringstream a(run(guarded, command, g));
  std::istringstream b(run(plain, command, workspace::guard::off));
  std::string x, y, before;
  int lines = 0, different = 0;
  while (std::getline(b, y)) {
    ++lines;
    x.clear();
    std::getline(a, x);
    if (x != y && ++different <= 5)
      ADD_FAILURE() << command.back() << ": guarded: " << x << "   plain: " << y
                    << "   after: " << before;
    before = y;
  }
  EXPECT_GT(lines, 1);
  // Nor can the host: it sees the same names appear.
  EXPECT_FALSE(plain.seen().empty());
  EXPECT_EQ(guarded.seen(), plain.seen());
}

} // namespace

TEST(GuardSameness, TenThousandOperationsGiveTheSameResults) {
  for (const char* seed : {"1", "2", "3", "4", "5"})
    expect_same({"operations", seed});
}

// As before Linux 5.19, where signals take calls away from the supervisor.
TEST(GuardSameness, TheSameOnAnOlderKernel) {
  expect_same({"operations", "6"}, workspace::guard::interruptible);
}

class GuardStress : public testing::TestWithParam<workspace::guard> {
protected:
  std::string stress(const char* what) const { return run(w, {"stress", what}, GetParam()); }
  const workspace w{false};
};

TEST_P(GuardStress, NothingIsDoneTwiceOrLostWhenSignalsInterrupt) {
  const auto said = stress("interrupted");
  if (GetParam() == workspace::guard::on) {
    EXPECT_EQ(said, "0 wrong, 0 lost\n");
    return;
  }
  // Of 6000 calls. There the kernel itself loses an answer that comes in the moment of the
  // signal, and tells nobody (docs/security.md).
  ASSERT_EQ(said.rfind("0 wrong, ", 0), 0u) << said;
  EXPECT_LE(std::stoi(said.substr(9)), 15);
}

TEST_P(GuardStress, NoCopyIsLostOrLeftWhenSignalsInterrupt) {
  const auto said = stress("interrupted-copies");
  if (GetParam() == workspace::guard::on) {
    EXPECT_EQ(said, "0 wrong, 0 lost, 0 left\n");
    return;
  }
  int wrong = -1, lost = -1, left = -1; // of 2000; see above
  std::sscanf(said.c_str(), "%d wrong, %d lost, %d left", &wrong, &lost, &left);
  EXPECT_EQ(wrong, 0) << said;
  EXPECT_TRUE(lost >= 0 && lost <= 8) << said;
  EXPECT_TRUE(left >= 0 && left <= 8) << said;
}

TEST_P(GuardStress, WhoWaitsForALeaseHoldsNobodyElse) {
  EXPECT_EQ(stress("leases"), "EAGAIN\n3 wait\n0\n0\n0\n");
}

TEST_P(GuardStress, FifosWaitAreInterruptedAndNeverHoldTheSupervisor) {
  EXPECT_EQ(stress("fifo"), "5 hello 0\nEINTR\n1\n");
}

TEST_P(GuardStress, FifosOpenOnABusyMachine) { EXPECT_EQ(stress("busy-fifos"), "0 wrong\n"); }

TEST_P(GuardStress, OneOfSixtyFourWinsAnExclusiveOpen) { EXPECT_EQ(stress("exclusive"), "20\n"); }

INSTANTIATE_TEST_SUITE_P(Kernels, GuardStress,
                         testing::Values(workspace::guard::on, workspace::guard::interruptible),
                         [](const auto& i) {
                           return i.param == workspace::guard::on ? "Newer" : "Older";
                         });

TEST(GuardSameness, DescriptorsUpToTheLimitThenEMFILE) {
  const workspace w(false);
  EXPECT_EQ(run(w, {"stress", "descriptors"}, workspace::guard::on), "all EMFILE\n");
}

TEST(GuardSameness, LongPathsDeepAndDeletedDirectories) { expect_same({"stress", "paths"}); }
