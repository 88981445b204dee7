// Every attack of the villain: fails under the guard and, as a control, succeeds without it.
#include "tests/guard/workspace.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
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

bool needs_repository(const std::string& attack) {
  return attack.rfind("git-", 0) == 0 || attack == "tree-worktree-add";
}

// What a user does next on the host. A plant that works touches "planted" somewhere.
std::string host_git(const workspace& w) {
  const std::string script =
      "cd '" + w.path().string() + "'; for d in . repo repo/nested new.git elsewhere tree copy " +
      "repo/module repo/.git sub; do test -d $d && (cd $d; git status; git diff; git log -1; "
      "git st; git add -A; git fetch o; git fetch ../repo) >/dev/null 2>&1; done; "
      "find . -name planted";
  std::string out;
  char buffer[512];
  FILE* shell = popen(script.c_str(), "r");
  while (shell && std::fgets(buffer, sizeof buffer, shell))
    out += buffer;
  if (shell)
    pclose(shell);
  return out;
}

} // namespace

TEST(GuardAttacks, NoneMakesAProtectedName) {
  const auto list = attacks();
  ASSERT_GE(list.size(), 100u);
  for (const auto& name : list) {
    const workspace w(needs_repository(name));
    const auto outcome = w.run({"/tmp/guard-villain", "attack", name}, workspace::guard::on);
    EXPECT_EQ(w.planted(), "") << name << "\n" << outcome.output;
    if (needs_repository(name)) {
      EXPECT_EQ(host_git(w), "") << name;
    }
    EXPECT_EQ(outcome.output.find("READ THE SUPERVISOR"), std::string::npos) << name;
  }
}

// The fallback for kernels before 5.19 refuses the same.
TEST(GuardAttacks, NoneMakesAProtectedNameOnAnOlderKernel) {
  const auto list = attacks();
  for (std::size_t i = 0; i < list.size(); i += 3) {
    const workspace w(needs_repository(list[i]));
    w.run({"/tmp/guard-villain", "attack", list[i]}, workspace::guard::interruptible);
    EXPECT_EQ(w.planted(), "") << list[i];
  }
}

// Copies in memory are no way around either.
TEST(GuardAttacks, NoneMakesAProtectedNameWhereNoFileIsWithoutAName) {
  for (const auto& name : attacks())
    if (name.rfind("git-", 0) == 0) {
      const workspace w;
      w.run({"/tmp/guard-villain", "attack", name}, workspace::guard::no_nameless_files);
      EXPECT_EQ(w.planted(), "") << name;
    }
}

// The same in the sandbox of the product, with its other filter, its mounts and the rules that
// it makes itself; sixteen in a row, each beginning with what those before it left.
TEST(GuardAttacks, NoneSucceedsUnderPiorchExec) {
  auto list = attacks();
  // Those need settings of the user's (e2e.E2eExecGit.WhatSettingsName*).
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const std::string& name) { return name.rfind("tree-", 0) == 0; }),
             list.end());
  for (std::size_t from = 0; from < list.size(); from += 16) {
    const workspace w;
    std::filesystem::copy_file(bin("guard-villain"), w.path() / "villain");
    std::string names;
    for (std::size_t i = from; i < std::min(from + 16, list.size()); ++i)
      names += " '" + list[i] + "'";
    const std::string command = "cd '" + w.path().string() + "' && HOME=/nonexistent '" +
                                bin("piorch") +
                                "' exec -- bash -c 'for a; do timeout 20 ./villain attack \"$a\"; "
                                "done; echo all done' bash" +
                                names + " 2>&1 </dev/null";
    std::string output;
    char buffer[512];
    FILE* shell = popen(command.c_str(), "r");
    while (shell && std::fgets(buffer, sizeof buffer, shell))
      output += buffer;
    if (shell)
      pclose(shell);
    EXPECT_NE(output.find("all done"), std::string::npos) << output;
    EXPECT_EQ(output.find("READ THE SUPERVISOR"), std::string::npos) << names;
    std::istringstream all(w.planted());
    std::string planted;
    for (std::string line; std::getline(all, line);)
      if (line.find("x.conf") == std::string::npos) // only the tests' own rules protect it
        planted += line + "\n";
    EXPECT_EQ(planted, "") << names << "\n" << output;
    EXPECT_EQ(host_git(w), "") << names;
  }
}

// The host's Git does run what is planted without the guard, so finding nothing means something.
TEST(GuardAttacks, TheHostsGitWouldRunPlants) {
  for (const char* name : {"git-config-lock", "git-config-command", "git-new-init", "git-alias",
                           "git-commondir", "git-new-gitfile-to-bare"}) {
    const workspace w;
    w.run({"/tmp/guard-villain", "attack", name}, workspace::guard::off);
    EXPECT_NE(host_git(w), "") << name;
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
  // They tried.
  for (const char* refused : {"/.env: ", "/.pi/settings.json: ", "/g/", "/repo/.git/"})
    EXPECT_NE(outcome.refusals.find(refused), std::string::npos) << refused;
}

// Each of its teams would, and notices it.
TEST(GuardAttacks, EveryRacingOneWouldWinWithoutTheGuard) {
  for (int team = 0;; ++team) {
    const workspace w;
    const auto outcome =
        w.run({"/tmp/guard-villain", "race", "20", std::to_string(team)}, workspace::guard::off);
    if (outcome.status == 2) { // there are no more
      EXPECT_EQ(team, 9);
      return;
    }
    EXPECT_EQ(outcome.status, 1) << team << "\n" << outcome.output.substr(0, 2000);
  }
}
