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

void expect_same(const std::vector<std::string>& command) {
  const workspace guarded(false), plain(false);
  std::istringstream a(run(guarded, command, workspace::guard::on));
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
}

} // namespace

TEST(GuardSameness, TenThousandOperationsGiveTheSameResults) {
  for (const char* seed : {"1", "2", "3", "4", "5"})
    expect_same({"operations", seed});
}

TEST(GuardSameness, NothingIsDoneTwiceOrLostWhenSignalsInterrupt) {
  const workspace w(false);
  EXPECT_EQ(run(w, {"stress", "interrupted"}, workspace::guard::on), "0 wrong\n");
}

TEST(GuardSameness, FifosWaitAreInterruptedAndNeverHoldTheSupervisor) {
  const workspace w(false);
  EXPECT_EQ(run(w, {"stress", "fifo"}, workspace::guard::on), "5 hello 0\nEINTR\n1\n");
}

TEST(GuardSameness, OneOfSixtyFourWinsAnExclusiveOpen) {
  const workspace w(false);
  EXPECT_EQ(run(w, {"stress", "exclusive"}, workspace::guard::on), "20\n");
}

TEST(GuardSameness, DescriptorsUpToTheLimitThenEMFILE) {
  const workspace w(false);
  EXPECT_EQ(run(w, {"stress", "descriptors"}, workspace::guard::on), "all EMFILE\n");
}

TEST(GuardSameness, LongPathsDeepAndDeletedDirectories) { expect_same({"stress", "paths"}); }
