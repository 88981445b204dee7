#include "sandbox/tree_usage.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace piorch::sandbox;

TEST(TreeUsage, OfTheTreeBelowAndOfNothingElse) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t root = ::fork();
  if (root == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::string memory(std::size_t{64} << 20, 'x');
      const clock_t begun = ::clock();
      while (::clock() - begun < CLOCKS_PER_SEC / 5) {
      }
      (void)!::write(ready[1], &memory[memory.size() / 2], 1);
      ::pause();
    }
    ::waitpid(child, nullptr, 0);
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const pid_t nobody = 0x3ffffff; // beyond every pid
  const auto used = measure_trees({root, nobody});
  ::kill(root, SIGKILL);
  EXPECT_EQ(used.at(root).processes, 1u);
  EXPECT_GE(used.at(root).rss_bytes, std::uint64_t{64} << 20);
  EXPECT_GE(used.at(root).cpu_seconds, 0.15);
  EXPECT_EQ(used.at(nobody).processes, 0u);
  ::waitpid(root, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}
