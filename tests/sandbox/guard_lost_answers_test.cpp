#include "sandbox/guard/lost_answers.hpp"

#include <algorithm>
#include <asm/unistd.h>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <sys/stat.h>
#include <thread>

using namespace piorch::sandbox::guard;
using piorch::ipc::unique_fd;

namespace {

class SandboxGuardLostAnswers : public testing::Test {
protected:
  static seccomp_data call(int number, std::uint64_t argument = 7) {
    seccomp_data d{};
    d.nr = number;
    d.instruction_pointer = 4096;
    d.args[0] = argument;
    return d;
  }
  bool given(pid_t tid, const seccomp_data& c, const char* path, int outcome) {
    return lost->take(tid, c, path, outcome, fd);
  }

  // Too big for a stack.
  const std::unique_ptr<lost_answers> lost = std::make_unique<lost_answers>();
  unique_fd fd;
};

} // namespace

TEST_F(SandboxGuardLostAnswers, TheSameCallOfTheSameThreadGetsIt) {
  lost->remember(10, call(__NR_mkdirat), "d", {});
  EXPECT_TRUE(given(10, call(__NR_mkdirat), "d", -EEXIST));
  EXPECT_FALSE(fd);
  EXPECT_FALSE(given(11, call(__NR_mkdirat), "d", -EEXIST));
  EXPECT_FALSE(given(10, call(__NR_mkdirat), "e", -EEXIST));
  EXPECT_FALSE(given(10, call(__NR_mkdirat, 8), "d", -EEXIST));
  EXPECT_FALSE(given(10, call(__NR_mknodat), "d", -EEXIST));
  lost->forget(10);
  EXPECT_FALSE(given(10, call(__NR_mkdirat), "d", -EEXIST));
}

TEST_F(SandboxGuardLostAnswers, OnlyWhenItFailsBecauseItsWorkIsDone) {
  for (const auto& [number, done] : {std::pair{__NR_mkdirat, EEXIST},
                                     {__NR_openat, EEXIST},
                                     {__NR_linkat, EEXIST},
                                     {__NR_renameat2, ENOENT},
                                     {__NR_bind, EINVAL},
                                     {__NR_bind, EADDRINUSE}}) {
    lost->remember(1, call(number), "x", {});
    EXPECT_TRUE(given(1, call(number), "x", -done)) << number;
    for (const int other : {EACCES, ENOSPC, ENOTDIR})
      EXPECT_FALSE(given(1, call(number), "x", -other)) << number;
  }
  lost->remember(1, call(__NR_openat), "x", {});
  EXPECT_FALSE(given(1, call(__NR_openat), "x", -ENOENT));
}

TEST_F(SandboxGuardLostAnswers, ADescriptorIsKeptUntilItIsGivenOrForgotten) {
  struct stat a {
  }, b{};
  unique_fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fstat(null.get(), &a), 0);
  lost->remember(1, call(__NR_openat), "x", std::move(null));
  ASSERT_TRUE(given(1, call(__NR_openat), "x", -EEXIST));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::fstat(fd.get(), &b), 0);
  EXPECT_EQ(a.st_rdev, b.st_rdev);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  lost->remember(1, call(__NR_openat), "x", unique_fd(ends[1]));
  lost->forget(1);
  char c;
  EXPECT_EQ(::read(ends[0], &c, 1), 0) << "it is still open";
  ::close(ends[0]);
}

TEST_F(SandboxGuardLostAnswers, TheOldestIsForgottenFirst) {
  for (pid_t tid = 1; tid <= 300; ++tid)
    lost->remember(tid, call(__NR_mkdirat), "d", {});
  EXPECT_FALSE(given(1, call(__NR_mkdirat), "d", -EEXIST));
  EXPECT_TRUE(given(300, call(__NR_mkdirat), "d", -EEXIST));
}

TEST_F(SandboxGuardLostAnswers, CallsOfOneThreadAreServedOneAfterTheOther) {
  std::atomic<int> inside{0}, most{0};
  const auto serve = [&](pid_t tid) {
    for (int i = 0; i < 2000; ++i) {
      lost->begin(tid);
      most = std::max<int>(most, ++inside);
      --inside;
      lost->end(tid);
    }
  };
  std::thread other(serve, 5);
  serve(5);
  other.join();
  EXPECT_EQ(most, 1);
}
