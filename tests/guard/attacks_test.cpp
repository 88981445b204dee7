// Every attack of the villain: fails under the guard and, as a control, succeeds without it.
#include "tests/guard/workspace.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

using piorch::test::bin;
using piorch::test::workspace;

namespace {

std::vector<std::string> attacks() {
  std::vector<std::string> out;
  FILE* list = popen((bin("guard-villain") + " list").c_str(), "r");
  char line[256];
  while (list && std::fgets(line, sizeof line, list))
    out.push_back(std::string(line).substr(0, std::string(line).find('\n')));
  if (list)
    pclose(list);
  return out;
}

bool needs_repository(const std::string& attack) { return attack.rfind("git-", 0) == 0; }

} // namespace

TEST(GuardAttacks, NoneMakesAProtectedName) {
  const auto list = attacks();
  ASSERT_GE(list.size(), 100u);
  for (const auto& name : list) {
    const workspace w(needs_repository(name));
    const auto outcome = w.run({"/tmp/guard-villain", "attack", name}, workspace::guard::on);
    EXPECT_EQ(w.planted(), "") << name << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("READ THE SUPERVISOR"), std::string::npos) << name;
  }
}

// A control that fails would make its attack worthless.
TEST(GuardAttacks, EachWouldSucceedWithoutTheGuard) {
  for (const auto& name : attacks()) {
    // The kernel lets only an ordinary user map an unprivileged root, which overlayfs needs.
    if (name == "overlay-copy-up" && ::getuid() == 0)
      continue;
    const workspace w(needs_repository(name));
    const auto outcome = w.run({"/tmp/guard-villain", "attack", name}, workspace::guard::off);
    EXPECT_NE(w.planted(), "") << name << "\n" << outcome.output;
  }
}

TEST(GuardAttacks, ARacingOneNeverWins) {
  const char* is_long = std::getenv("PIORCH_LONG");
  const workspace w;
  const auto outcome =
      w.run({"/tmp/guard-villain", "race", is_long && *is_long == '1' ? "600" : "10"},
            workspace::guard::on);
  EXPECT_EQ(outcome.status, 0) << outcome.output.substr(0, 2000);
  EXPECT_EQ(w.planted(), "");
}
