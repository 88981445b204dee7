// Bubblewrap is killed while it starts: nothing of it waits for ever.
#include "sandbox/kill_starting.hpp"

#include "sandbox/spawn.hpp"
#include "tests/support/run.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <time.h>

namespace piorch::sandbox {
namespace {

TEST(SandboxKillStarting, NothingOfBubblewrapStays) {
  const std::string mark = "/tmp/piorch-mark-" + std::to_string(::getpid());
  for (long wait = 0; wait < 8'000'000; wait += 40'000) { // through all of its start
    spawn_request start;
    start.program = "/usr/bin/bwrap";
    start.arguments = {"bwrap",      "--unshare-all", "--die-with-parent",
                       "--as-pid-1", "--ro-bind",     "/",
                       "/",          "sleep",         "1000",
                       mark};
    start.fds = {-1, -1, -1};
    const auto pid = spawn(start);
    ASSERT_TRUE(pid) << pid.failed().text;
    const timespec later{0, wait};
    ::nanosleep(&later, nullptr);
    kill_starting(*pid);
    ASSERT_EQ(::waitpid(*pid, nullptr, 0), *pid);
  }
  for (const pid_t left : test::processes_with(mark)) {
    const auto handle = test::watch_process(left);
    EXPECT_TRUE(!handle || test::wait_readable(handle.get(), test::milliseconds(5000))) << left;
  }
}

} // namespace
} // namespace piorch::sandbox
