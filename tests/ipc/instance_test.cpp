#include "ipc/client.hpp"
#include "ipc/instance.hpp"
#include "ipc/listener.hpp"
#include "ipc/start_instance.hpp"

#include "asio_thread.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class IpcInstance : public ::testing::Test {
protected:
  IpcInstance() {
    std::string pattern = ::testing::TempDir() + "piorch-instance-XXXXXX";
    root = ::mkdtemp(pattern.data());
    path = root + "/run";
  }
  ~IpcInstance() override { fs::remove_all(root); }
  instance_directory open() {
    auto dir = instance_directory::open(path);
    EXPECT_TRUE(dir) << dir.failed().text;
    return std::move(*dir);
  }
  std::string root, path;
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

// --- starting one ---------------------------------------------------------------

class IpcStartInstance : public IpcInstance {
protected:
  // The "orchestrator" is a shell line; the ready pipe is its descriptor 3.
  result<connected> start_with(const std::string& script, std::chrono::milliseconds limit) {
    const auto dir = open();
    start_options options;
    options.program = "/bin/sh";
    options.args = {"-c", script, "sh"};
    options.environment = {"PATH=/usr/bin:/bin", "OUT=" + root};
    options.limit = limit;
    return connect_or_start(dir, options, {});
  }
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
  auto got = start_with("echo $$ > $OUT/pid; exec sleep 1000", 300ms);
  ASSERT_FALSE(got);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
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

// --- the client's own side of a conversation -------------------------------------

TEST(IpcClient, TakesNotificationsAndQuestionsWhileItWaitsForAnAnswer) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  std::thread server([fd = b.get()] {
    std::string got;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n')
      got += c;
    const std::string answer =
        "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"no\"}}\n";
    (void)!::write(fd, answer.data(), answer.size());
  });
  std::vector<std::string> others;
  peer.on_other = [&](rpc_message& m) { others.push_back(m.method); };
  auto got = peer.call(session_status_params{"x"}, 5s);
  server.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.failed().code, failure::unknown_session);
  EXPECT_EQ(others, (std::vector<std::string>{"note", "ask"}));
}

TEST(IpcClient, KeepsWhatComesBeforeAnAnswerForWhoeverReadsNext) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  const auto first = peer.request(session_status_params{"x"});
  // The answer to another request of ours, a question, then what call() waits for.
  const std::string lines = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n"
                            "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":{}}\n"
                            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":2}}\n";
  ASSERT_EQ(::write(b.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  auto got = peer.call(session_status_params{"y"}, 5s);
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)["n"], 2);
  auto kept = peer.receive(client::clock::now());
  ASSERT_TRUE(kept && kept->what == client::incoming::kind::message);
  const auto answer = client::answer_to(first, kept->message);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((**answer)["n"], 1);
  auto also = client::receive_any({&peer}, client::clock::now());
  ASSERT_TRUE(also.what && also.what->what == client::incoming::kind::message);
  EXPECT_EQ(also.what->message.method, "ask");
}

TEST(IpcClient, TakesTheNextMessageOfAnyConnection) {
  auto [a, x] = socket_pair();
  auto [b, y] = socket_pair();
  client one(std::move(a)), two(std::move(b));
  const std::vector<client*> both{&one, &two};
  const std::string note = "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{}}\n";
  const auto soon = [] { return client::clock::now() + 5s; };
  using kind = client::incoming::kind;

  ASSERT_EQ(::write(y.get(), (note + note).data(), 2 * note.size()),
            static_cast<ssize_t>(2 * note.size()));
  for (int i = 0; i < 2; ++i) { // the second one is in the buffer already
    auto in = client::receive_any(both, soon());
    EXPECT_EQ(in.index, 1u);
    ASSERT_TRUE(in.what && in.what->what == kind::message);
  }
  // Waiting writes what is queued.
  one.request(session_status_params{});
  EXPECT_EQ(client::receive_any(both, client::clock::now()).what->what, kind::too_late);
  char request[256];
  EXPECT_GT(::recv(x.get(), request, sizeof request, MSG_DONTWAIT), 0);

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  unique_fd in_end(ends[0]), out_end(ends[1]);
  ASSERT_EQ(::write(out_end.get(), "x", 1), 1);
  auto other = client::receive_any(both, soon(), {{-1, POLLIN, 0}, {in_end.get(), POLLIN, 0}});
  EXPECT_EQ(other.what->what, kind::woken);
  EXPECT_EQ(other.index, 3u);

  x.reset();
  auto lost = client::receive_any(both, soon());
  EXPECT_EQ(lost.index, 0u);
  EXPECT_FALSE(lost.what);
}

TEST(IpcClient, ReadsWhileItWritesSoThatNeitherSideWaitsForTheOther) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  std::size_t notes = 0;
  peer.on_other = [&](rpc_message&) { ++notes; };
  // The server writes 8 MiB before it reads anything.
  std::thread server([fd = b.get()] {
    const std::string note =
        R"({"jsonrpc":"2.0","method":"n","params":{"x":")" + std::string(1000, 'x') + "\"}}\n";
    for (int i = 0; i < 8000; ++i)
      for (std::size_t at = 0; at < note.size();) {
        const ssize_t n = ::write(fd, note.data() + at, note.size() - at);
        ASSERT_GT(n, 0);
        at += static_cast<std::size_t>(n);
      }
    std::string got;
    char chunk[65536];
    while (got.find('\n') == std::string::npos) {
      const ssize_t n = ::read(fd, chunk, sizeof chunk);
      ASSERT_GT(n, 0);
      got.append(chunk, static_cast<std::size_t>(n));
    }
    const std::string answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    ASSERT_GT(::write(fd, answer.data(), answer.size()), 0);
  });
  session_start_params start;
  start.task = std::string(8u << 20, 't');
  start.cwd = "/";
  auto got = peer.call(start, 20s);
  server.join();
  EXPECT_TRUE(got) << got.failed().text;
  EXPECT_EQ(notes, 8000u);
}

TEST(IpcClient, TellsLostLateAndWokenApart) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  auto late = peer.receive(client::clock::now() + 20ms);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->what, client::incoming::kind::too_late);
  int wake[2];
  ASSERT_EQ(::pipe(wake), 0);
  ASSERT_EQ(::write(wake[1], "x", 1), 1);
  auto woken = peer.receive({}, wake[0]);
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->what, client::incoming::kind::woken);
  b.reset();
  auto lost = peer.receive();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.failed().code, failure::unreachable);
  ::close(wake[0]);
  ::close(wake[1]);
}

TEST(IpcClient, DoesNotTrustItsServer) {
  for (const char* line : {"garbage\n", "[]\n", "{\"jsonrpc\":\"2.0\"}\n"}) {
    auto [a, b] = socket_pair();
    client peer(std::move(a));
    ASSERT_GT(::write(b.get(), line, std::strlen(line)), 0);
    EXPECT_FALSE(peer.call(shutdown_params{}, 5s)) << line;
  }
}

} // namespace
} // namespace piorch::ipc
