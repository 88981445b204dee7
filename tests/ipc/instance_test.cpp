// The directory of the instances, their locks and their sockets.
#include "ipc/client.hpp"
#include "ipc/instance.hpp"
#include "ipc/listener.hpp"

#include "asio_thread.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class IpcInstance : public ::testing::Test {
protected:
  instance_directory open() {
    auto dir = instance_directory::open(path);
    EXPECT_TRUE(dir) << dir.failed().text;
    return std::move(*dir);
  }
  const test::temp_dir directory;
  const std::string root = directory.path();
  std::string path = root + "/run";
};

TEST_F(IpcInstance, MakesAPrivateDirectory) {
  open();
  struct stat st {};
  ASSERT_EQ(::lstat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST_F(IpcInstance, RefusesALinkAndAFile) {
  fs::create_directory(root + "/elsewhere");
  fs::create_directory_symlink(root + "/elsewhere", path);
  EXPECT_FALSE(instance_directory::open(path));
  fs::remove(path);
  std::ofstream(path) << "x";
  EXPECT_FALSE(instance_directory::open(path));
}

TEST_F(IpcInstance, RefusesSomebodyElsesDirectory) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can make a directory of another user";
  fs::create_directory(path);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  auto dir = instance_directory::open(path);
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.failed().text.find("another user"), std::string::npos) << dir.failed().text;
}

TEST_F(IpcInstance, OneHolderPerLockAndAFreeNameAfterwards) {
  const auto dir = open();
  auto first = lock_file::take(dir, "x", 0ms);
  ASSERT_TRUE(first && *first);
  auto second = lock_file::take(dir, "x", 0ms);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  const auto before = std::chrono::steady_clock::now();
  second = lock_file::take(dir, "x", 60ms);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 60ms);
  first->reset();
  second = lock_file::take(dir, "x", 0ms);
  ASSERT_TRUE(second);
  EXPECT_TRUE(*second);
  second->reset();
  EXPECT_TRUE(fs::is_empty(path));
}

TEST_F(IpcInstance, AWaiterGetsTheLockOfAKilledHolderAtOnce) {
  const auto dir = open();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto lock = lock_file::take(dir, "x", 0ms);
    (void)!::write(ready[1], lock && *lock ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_EQ(c, 'y');
  std::thread killer([&] {
    std::this_thread::sleep_for(100ms);
    ::kill(pid, SIGKILL);
  });
  const auto before = std::chrono::steady_clock::now();
  auto lock = lock_file::take(dir, "x", 10s);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  killer.join();
  ::waitpid(pid, nullptr, 0);
  ASSERT_TRUE(lock);
  EXPECT_TRUE(*lock);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(IpcInstance, RacersNeverHoldALockTogether) {
  const auto dir = open();
  std::atomic<int> inside{0}, most{0}, got{0};
  std::vector<std::thread> racers;
  for (int i = 0; i < 4; ++i)
    racers.emplace_back([&] {
      for (int round = 0; round < 500; ++round)
        if (auto lock = lock_file::take(dir, "x", 0ms); lock && *lock) {
          most = std::max<int>(most, ++inside);
          ++got;
          --inside;
        }
    });
  for (auto& r : racers)
    r.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(got, 0);
}

TEST_F(IpcInstance, ServesOwnUsersAndFreesItsNameWhenItCloses) {
  auto dir = open();
  asio_thread asio;
  std::vector<unique_fd> connections;
  auto served = listener::open(asio.io, dir, default_instance);
  ASSERT_TRUE(served) << served.failed().text;
  asio.run([&] { (*served)->start([&](unique_fd fd) { connections.push_back(std::move(fd)); }); });
  EXPECT_EQ(dir.names(), std::vector<std::string>{"default"});
  struct stat st {};
  ASSERT_EQ(::lstat((path + "/default.sock").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  ASSERT_TRUE(client::connect(dir, default_instance, 1000ms));
  for (int i = 0; i < 1000; ++i) {
    std::size_t count = 0;
    asio.run([&] { count = connections.size(); });
    if (count == 1)
      break;
    std::this_thread::sleep_for(1ms);
  }
  asio.run([&] {
    EXPECT_EQ(connections.size(), 1u);
    (*served)->close();
  });
  EXPECT_TRUE(fs::is_empty(path));
  auto gone = client::connect(dir, default_instance, 100ms);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.failed().code, failure::unreachable);
  asio.run([&] { served->reset(); });
}

TEST_F(IpcInstance, PrivateInstancesStandSideBySide) {
  auto dir = open();
  boost::asio::io_context io;
  auto a = listener::open(io, dir, "serve-7");
  auto b = listener::open(io, dir, "serve-7"); // the same pid of another namespace
  auto c = listener::open(io, dir, default_instance);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"default", "serve-7", "serve-7-2"}));
}

TEST_F(IpcInstance, AnybodySweepsAndMakesNothing) {
  sweep_instances(path);
  EXPECT_FALSE(fs::exists(path));
  fs::create_directories(workers_directory(path));
  for (const auto& each : {path, workers_directory(path)}) {
    fs::permissions(each, fs::perms::owner_all);
    std::ofstream(each + "/serve-1.sock");
  }
  boost::asio::io_context io;
  auto dir = open();
  const auto live = listener::open(io, dir, "serve-2");
  ASSERT_TRUE(live);
  std::ofstream(path + "/serve-1.sock");
  sweep_instances(path);
  EXPECT_EQ(dir.names(), std::vector<std::string>{"serve-2"});
  EXPECT_TRUE(fs::is_empty(workers_directory(path)));
}

TEST_F(IpcInstance, SweepsWhatAKilledInstanceLeft) {
  auto dir = open();
  const pid_t pid = ::fork();
  if (pid == 0) {
    boost::asio::io_context io;
    auto served = listener::open(io, dir, "serve-1");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(pid, nullptr, 0);
  ASSERT_EQ(dir.names(), std::vector<std::string>{"serve-1"});
  boost::asio::io_context io;
  auto live = listener::open(io, dir, "serve-2");
  ASSERT_TRUE(live);
  EXPECT_EQ(dir.names(), std::vector<std::string>{"serve-2"});
  EXPECT_FALSE(fs::exists(path + "/serve-1.lock"));
}

TEST_F(IpcInstance, WorksBelowAPathLongerThanASocketAddress) {
  path = root + "/" + std::string(150, 'd');
  auto dir = open();
  boost::asio::io_context io;
  auto served = listener::open(io, dir, default_instance);
  ASSERT_TRUE(served) << served.failed().text;
  EXPECT_TRUE(client::connect(dir, default_instance, 1000ms));
}

} // namespace
} // namespace piorch::ipc
