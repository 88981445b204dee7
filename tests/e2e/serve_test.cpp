// piorch serve as a program, with real sandboxes: what clients may do to it, and
// what is left of anything when somebody is killed.
#include "ipc/client.hpp"
#include "ipc/start_instance.hpp"
#include "tests/support/read_file.hpp"
#include "tests/support/run.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace piorch {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ipc::client;
using kind = ipc::rpc_message::kind;

const std::string libexec = PIORCH_BUILD_DIR "/libexec/piorch/";

class E2eServe : public ::testing::Test {
protected:
  E2eServe() {
    std::string pattern = "/tmp/piorch-serve-XXXXXX";
    root = ::mkdtemp(pattern.data());
    for (const char* dir : {"home", "run", "project", "tmp"})
      fs::create_directory(root + "/" + dir);
    fs::permissions(root + "/run", fs::perms::owner_all);
  }
  ~E2eServe() override {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    fs::remove_all(root);
  }

  // A private orchestrator; its stdin and stdout are one socket, as Node does it.
  ipc::unique_fd start_private() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], 0);
      ::dup2(ends[1], 1);
      ::setenv("HOME", (root + "/home").c_str(), 1);
      ::setenv("XDG_RUNTIME_DIR", (root + "/run").c_str(), 1);
      ::setenv("TMPDIR", (root + "/tmp").c_str(), 1);
      ::execl(PIORCH_BUILD_DIR "/bin/piorch", "piorch", "serve", "--stdio", nullptr);
      ::_exit(99);
    }
    ::close(ends[1]);
    return ipc::unique_fd(ends[0]);
  }
  static void greet(client& c) {
    auto hello = c.call(hello_params(), 10s);
    ASSERT_TRUE(hello) << hello.failed().text;
  }
  static ipc::initialize_params hello_params() { return {1, "test", "1", false}; }

  ipc::command_run_params shell(const std::string& id, const std::string& text) const {
    ipc::command_run_params p;
    p.id = id;
    p.command = text;
    p.cwd = root + "/project";
    return p;
  }

  static void put(int fd, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      pollfd room{fd, POLLOUT, 0};
      ASSERT_EQ(::poll(&room, 1, 10000), 1);
      const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      at += static_cast<std::size_t>(n);
    }
  }

  // Processes of the host whose command line contains `mark`.
  static int alive(const std::string& mark) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      count += test::read_file(entry.path() / "cmdline").find(mark) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  static bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until)
        return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  // A command that sleeps is there when this returns.
  void run_until_up(client& c, const std::string& before, const std::string& then = "exec sleep ") {
    greet(c);
    c.request(shell("a", before + then + mark()));
    ASSERT_TRUE(c.flush(client::clock::now() + 5s));
    ASSERT_TRUE(within(10s, [&] { return alive(mark()) > 0; }));
  }
  // How long it takes until nothing of it is there.
  client::clock::duration time_until_gone() {
    const auto from = client::clock::now();
    EXPECT_TRUE(within(15s, [&] { return alive(mark()) == 0; }));
    return client::clock::now() - from;
  }
  // A duration that no other process sleeps.
  std::string mark() const { return "1234." + std::to_string(::getpid()) + "77"; }

  std::string root;
  pid_t pid = -1;
};

TEST_F(E2eServe, RunsACommandAndStreamsItsBytes) {
  client c(start_private());
  greet(c);
  std::string out, err;
  c.on_other = [&](ipc::rpc_message& m) {
    auto chunk = ipc::read<ipc::command_output>(m.params);
    ASSERT_TRUE(chunk) << chunk.failed().text;
    (chunk->is_stderr ? err : out) += chunk->bytes;
  };
  auto p = shell("a", "printf 'a\\000b'; cat; echo e >&2; exit 3");
  p.input = "in";
  auto answer = c.call(p, 20s);
  ASSERT_TRUE(answer) << answer.failed().text;
  auto how = ipc::read<ipc::command_run_result>(*answer);
  ASSERT_TRUE(how) << how.failed().text;
  EXPECT_EQ(how->exit_code, 3);
  EXPECT_EQ(out, std::string("a\0bin", 5));
  EXPECT_EQ(err, "e\n");
}

// On a machine that is busy with other tests the best of some counts.
TEST_F(E2eServe, EndsACommandThatIgnoresSigtermWithinASecond) {
  client c(start_private());
  greet(c);
  auto best = client::clock::duration::max();
  for (int round = 0; round < 5 && best >= 1s; ++round) {
    const long long run = c.request(shell("a", "trap '' TERM; echo up; while :; do sleep 1; done"));
    ASSERT_TRUE(c.receive(client::clock::now() + 20s)); // "up"
    const auto begun = client::clock::now();
    c.request(ipc::command_cancel_params{"a"});
    for (bool answered = false; !answered;) {
      auto in = c.receive(begun + 20s);
      ASSERT_TRUE(in && in->what == client::incoming::kind::message);
      if (auto answer = client::answer_to(run, in->message)) {
        ASSERT_TRUE(*answer);
        EXPECT_TRUE(ipc::read<ipc::command_run_result>(**answer)->cancelled);
        answered = true;
      }
    }
    best = std::min(best, client::clock::now() - begun);
  }
  EXPECT_LT(best, 1s);
}

TEST_F(E2eServe, AnswersGarbageWithErrorsAndGoesOn) {
  auto fd = start_private();
  const int raw = fd.get();
  client c(std::move(fd));
  greet(c);
  put(raw, "garbage\n[]\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"nosuch\"}\n" +
               std::string(100000, '[') + "\n");
  for (const int code : {-32700, -32600, -32601, -32600}) {
    auto in = c.receive(client::clock::now() + 10s);
    ASSERT_TRUE(in);
    ASSERT_EQ(in->message.what, kind::error);
    EXPECT_EQ(static_cast<int>(in->message.failed.code), code);
  }
  put(raw, std::string(17u << 20, 'x'));
  put(raw, "\n");
  auto in = c.receive(client::clock::now() + 10s);
  ASSERT_TRUE(in);
  EXPECT_EQ(in->message.failed.code, ipc::rpc_code::invalid_request);
  EXPECT_TRUE(c.call(ipc::command_cancel_params{"none"}, 10s));
}

TEST_F(E2eServe, WantsInitializeFirst) {
  client c(start_private());
  auto answer = c.call(shell("a", "true"), 10s);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.failed().text.find("initialize"), std::string::npos);
}

TEST_F(E2eServe, AnswersTenThousandRequestsSentAtOnce) {
  client c(start_private());
  greet(c);
  std::set<std::string> open;
  for (int i = 0; i < 10000; ++i)
    open.insert(std::to_string(c.request(ipc::command_cancel_params{"none"})));
  while (!open.empty()) {
    auto in = c.receive(client::clock::now() + 20s);
    ASSERT_TRUE(in);
    ASSERT_EQ(in->what, client::incoming::kind::message);
    EXPECT_EQ(open.erase(in->message.id.text()), 1u);
  }
}

TEST_F(E2eServe, AClientThatReadsNothingStopsItsOwnCommandOnly) {
  auto fd = start_private();
  client c(std::move(fd));
  greet(c);
  c.request(shell("flood", "head -c 30000000 /dev/zero; touch done"));
  ASSERT_TRUE(c.flush(client::clock::now() + 5s));
  // Another client of the same orchestrator works meanwhile.
  auto dir = ipc::instance_directory::open(root + "/run/piorch");
  ASSERT_TRUE(dir);
  auto other = ipc::connect_to(*dir, "serve-" + std::to_string(pid), hello_params(), 10s);
  ASSERT_TRUE(other) << other.failed().text;
  for (const char* id : {"1", "2", "3"})
    ASSERT_TRUE(other->peer.call(shell(id, "true"), 20s));
  EXPECT_FALSE(fs::exists(root + "/project/done"));
  std::size_t bytes = 0;
  for (;;) {
    auto in = c.receive(client::clock::now() + 20s);
    ASSERT_TRUE(in && in->what == client::incoming::kind::message);
    if (in->message.what == kind::response)
      break;
    bytes += ipc::read<ipc::command_output>(in->message.params)->bytes.size();
  }
  EXPECT_EQ(bytes, 30000000u);
  EXPECT_TRUE(fs::exists(root + "/project/done"));
}

// On a machine that is busy with other tests the best of some counts, here and below.
TEST_F(E2eServe, AKilledClientTakesItsCommandsAlong) {
  auto best = client::clock::duration::max();
  for (int round = 0; round < 5 && best >= 1s; ++round) {
    {
      client c(start_private());
      run_until_up(c, "");
    } // the connection ends without a word
    best = std::min(best, time_until_gone());
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid); // a private orchestrator ends with its parent
    EXPECT_EQ(status, 0);
    pid = -1;
    EXPECT_TRUE(fs::is_empty(root + "/run/piorch"));
  }
  EXPECT_LT(best, 1s);
}

TEST_F(E2eServe, NothingOutlivesAKilledOrchestrator) {
  auto best = client::clock::duration::max();
  for (int round = 0; round < 5 && best >= 1s; ++round) {
    client c(start_private());
    run_until_up(c, "trap '' TERM; ", "sleep ");
    ::kill(pid, SIGKILL);
    best = std::min(best, time_until_gone());
    ::waitpid(std::exchange(pid, -1), nullptr, 0);
  }
  EXPECT_LT(best, 1s);
}

// One that does not end in time is killed, and cannot remove what it has made.
TEST_F(E2eServe, WhatAKilledBrokerLeavesGoesWithTheOrchestrator) {
  {
    client c(start_private());
    run_until_up(c, "mkdir -p $TMPDIR/a/b; ");
    std::vector<pid_t> brokers;
    for (const pid_t one : test::children_of(pid))
      if (test::name_of_process(one) == "piorch-broker")
        brokers.push_back(one);
    ASSERT_EQ(brokers.size(), 1u);
    ::kill(brokers[0], SIGKILL);
    ASSERT_TRUE(within(10s, [&] { return alive(mark()) == 0; }));
    EXPECT_FALSE(fs::is_empty(root + "/tmp")) << "somebody else has removed it";
  }
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  pid = -1;
  EXPECT_TRUE(fs::is_empty(root + "/tmp"));
}

TEST_F(E2eServe, ShutdownEndsEverythingAndThenAnswers) {
  client c(start_private());
  run_until_up(c, "");
  ASSERT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  EXPECT_EQ(alive(mark()), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  pid = -1;
}

TEST_F(E2eServe, RacingClientsStartOneOrchestratorWhichLeavesWhenIdle) {
  auto dir = ipc::instance_directory::open(root + "/run/piorch");
  ASSERT_TRUE(dir);
  ipc::start_options options;
  options.program = libexec + "piorch-serve";
  options.args = {"--idle", "1"};
  options.environment = {"HOME=" + root + "/home", "XDG_RUNTIME_DIR=" + root + "/run",
                         "PATH=/usr/bin:/bin"};
  options.limit = 20s;
  std::vector<pid_t> racers;
  int results[2], over[2]; // nobody leaves before all have come, or it could end in between
  ASSERT_EQ(::pipe(results), 0);
  ASSERT_EQ(::pipe(over), 0);
  for (int i = 0; i < 8; ++i) { // processes, as commands are
    const pid_t racer = ::fork();
    if (racer == 0) {
      auto there = ipc::connect_or_start(*dir, options, hello_params());
      const std::int64_t who = there ? there->server.pid : -1;
      (void)!::write(results[1], &who, sizeof who);
      ::close(over[1]);
      char end;
      (void)!::read(over[0], &end, 1);
      ::_exit(0);
    }
    racers.push_back(racer);
  }
  std::set<std::int64_t> pids;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    std::int64_t who = 0;
    ASSERT_EQ(::read(results[0], &who, sizeof who), static_cast<ssize_t>(sizeof who));
    pids.insert(who);
  }
  ::close(over[1]);
  for (const pid_t racer : racers)
    ::waitpid(racer, nullptr, 0);
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_GT(*pids.begin(), 0);
  EXPECT_TRUE(within(10s, [&] { return fs::is_empty(root + "/run/piorch"); }));
  for (const int fd : {results[0], results[1], over[0]})
    ::close(fd);
}

} // namespace
} // namespace piorch
