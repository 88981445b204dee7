// What is left of memory groups whose owner was killed.
#include "sandbox/memory_group.hpp"

#include "sandbox/files.hpp"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace piorch::sandbox {
namespace {

class SandboxMemoryGroup : public testing::Test {
protected:
  void SetUp() override {
    if (parent.empty())
      GTEST_SKIP() << "no memory cgroup may be made here";
    sleeper = ::fork();
    if (sleeper == 0) {
      ::pause();
      ::_exit(0);
    }
    const pid_t dead = ::fork();
    if (dead == 0)
      ::_exit(0);
    ::waitpid(dead, nullptr, 0);
    gone = std::to_string(dead);
  }
  ~SandboxMemoryGroup() override {
    for (const std::string& path : made)
      ::rmdir(path.c_str());
    if (sleeper > 0) {
      ::kill(sleeper, SIGKILL);
      ::waitpid(sleeper, nullptr, 0);
    }
  }
  std::string group(const std::string& end) {
    made.push_back(parent + "/piorch-" + end);
    EXPECT_EQ(::mkdir(made.back().c_str(), 0755), 0) << made.back();
    return made.back();
  }

  const std::string parent = writable_memory_parent();
  pid_t sleeper = 0;
  std::string gone; // the number of a process that has ended
  std::vector<std::string> made;
};

TEST_F(SandboxMemoryGroup, WhatAKilledOwnerLeftIsSwept) {
  const std::string left = group(gone), of_a_process = group(std::to_string(sleeper));
  sweep_memory_groups();
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(of_a_process));
}

TEST_F(SandboxMemoryGroup, NothingElseIsSwept) {
  const std::vector<std::string> others{group(gone + "x"), group("0" + gone), group("x"),
                                        group("0")};
  const std::string elsewhere = group(gone); // its owner lives in another PID namespace
  const int lock = ::open(elsewhere.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  sweep_memory_groups();
  for (const std::string& path : others)
    EXPECT_TRUE(exists(path)) << path;
  EXPECT_TRUE(exists(elsewhere));
  ::close(lock);
  sweep_memory_groups();
  EXPECT_FALSE(exists(elsewhere));
}

TEST_F(SandboxMemoryGroup, ANumberThatIsUsedAgain) {
  const std::string left = group(std::to_string(::getpid()));
  const auto first = memory_group::place(sleeper, 1 << 30);
  EXPECT_TRUE(first);
  EXPECT_FALSE(memory_group::place(sleeper, 1 << 30)) << "the first one is alive";
  EXPECT_NE(
      read_small_file(left + "/cgroup.procs", 1000).value_or("").find(std::to_string(sleeper)),
      std::string::npos);
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
  sleeper = 0;
}

} // namespace
} // namespace piorch::sandbox
