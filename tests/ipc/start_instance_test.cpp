// An orchestrator that is started because nobody answers.
#include "ipc/client.hpp"
#include "ipc/instance.hpp"
#include "ipc/start_instance.hpp"

#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class IpcStartInstance : public ::testing::Test {
protected:
  // The "orchestrator" is a shell line; the ready pipe is its descriptor 3.
  result<connected> start_with(const std::string& script, std::chrono::milliseconds limit) {
    const auto dir = instance_directory::open(path);
    if (!dir)
      return dir.failed();
    start_options options;
    options.program = "/bin/sh";
    options.args = {"-c", script, "sh"};
    options.environment = {"PATH=/usr/bin:/bin", "OUT=" + root};
    options.limit = limit;
    return connect_or_start(*dir, options, {});
  }
  const test::temp_dir directory;
  const std::string root = directory.path(), path = root + "/run";
};

TEST_F(IpcStartInstance, ReportsTheReasonThatTheOrchestratorGives) {
  auto got = start_with(R"(echo '{"ready":false,"error":"the configuration is broken"}' >&3)", 5s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.failed().code, failure::unreachable);
  EXPECT_NE(got.failed().text.find("the configuration is broken"), std::string::npos);
}

TEST_F(IpcStartInstance, ReportsOneThatDiesOrBabbles) {
  for (const char* script : {"exit 3", "echo garbage >&3", "head -c 100000 /dev/zero >&3"}) {
    auto got = start_with(script, 5s);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.failed().code, failure::unreachable);
  }
}

TEST_F(IpcStartInstance, DoesNotWaitForEverAndLeavesNothingBehind) {
  const auto before = std::chrono::steady_clock::now();
  auto got = start_with("echo $$ > $OUT/pid; exec sleep 1000", 3s);
  ASSERT_FALSE(got);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 30s);
  std::ifstream file(root + "/pid");
  pid_t pid = 0;
  ASSERT_TRUE(file >> pid);
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_TRUE(fs::is_empty(path));
}

TEST_F(IpcStartInstance, GivesTheServiceOnlyStandardDescriptorsAndThePipe) {
  // A descriptor that is not close-on-exec must not leak into a daemon.
  const int leak = ::open("/dev/null", O_RDONLY);
  (void)start_with("ls -l /proc/self/fd > $OUT/fds; exit 1", 5s);
  ::close(leak);
  std::ifstream file(root + "/fds");
  std::string line, all;
  int count = 0;
  while (std::getline(file, line))
    if (line.find("->") != std::string::npos && line.find("/proc/") == std::string::npos)
      ++count, all += line + "\n";
  EXPECT_EQ(count, 4) << all; // 0, 1 (the file), 2, 3
}

TEST_F(IpcStartInstance, PassesOnlyWhatAServiceNeedsOfTheEnvironment) {
  ::setenv("BASH_ENV", "/evil", 1);
  ::setenv("PIORCH_SECRET", "x", 1);
  ::setenv("HOME", ::getenv("HOME") ? ::getenv("HOME") : "/", 1);
  bool home = false;
  for (const auto& v : service_environment()) {
    EXPECT_NE(v.rfind("BASH_ENV=", 0), 0u);
    EXPECT_NE(v.rfind("PIORCH_SECRET=", 0), 0u);
    home = home || v.rfind("HOME=", 0) == 0;
  }
  EXPECT_TRUE(home);
}

} // namespace
} // namespace piorch::ipc
