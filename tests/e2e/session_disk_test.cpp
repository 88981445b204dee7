// A journal on a disk that is full: the session goes on, followers see everything, and
// what could not be kept is told where it is missing. The disk is a real file system of
// one MiB, in a mount namespace of the orchestrator.
#include "tests/e2e/session_fixture.hpp"

#include <sched.h>
#include <sys/mount.h>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SessionDisk : public test::session_fixture {
protected:
  void SetUp() override {
    session_fixture::SetUp();
    if (!rig)
      return;
    use_villain();
    c.emplace(rig->connect_private(pid, false, [this] { small_disk(); }));
    disk = "/proc/" + std::to_string(pid) + "/root" + (rig->root() / "state").string();
    ASSERT_TRUE(std::filesystem::exists(disk + "/filler")) << "no file system of our own";
  }
  void TearDown() override {
    c.reset(); // the orchestrator ends with its client
    if (pid > 0)
      ::waitpid(pid, nullptr, 0);
    session_fixture::TearDown();
  }

  // In the orchestrator's process: a small file system, half of it taken.
  void small_disk() const {
    const auto uid = ::geteuid(), gid = ::getegid();
    const auto state = rig->root() / "state";
    bool good = ::unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) == 0;
    if (uid != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
    }
    good = good && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", state.c_str(), "tmpfs", 0, "size=1m,mode=0700") == 0;
    if (good)
      std::ofstream(state / "filler") << std::string(500u << 10, 'x');
  }

  json call(const ipc::rpc_call& what) {
    auto answer = c->call(what, 60s);
    EXPECT_TRUE(answer) << answer.failed().text;
    return answer ? std::move(*answer) : json();
  }
  void start() {
    ipc::session_start_params p;
    p.task = "hello";
    p.cwd = rig->workspace();
    p.background = true;
    p.follow = true;
    const auto environment = rig->environment();
    p.env.emplace(environment.begin(), environment.end());
    c->on_other = [this](ipc::rpc_message& m) { take(m); };
    id = call(p)["session"]["id"];
    ipc::session_wait_params wait;
    wait.session_id = id;
    call(wait);
  }
  std::string follow_up(const std::string& task) {
    ipc::session_follow_up_params p;
    p.session_id = id;
    p.task = task;
    return call(p)["text"];
  }
  void take(const ipc::rpc_message& m) {
    if (m.method != ipc::session_event_method)
      return;
    const auto& event = m.params["event"];
    const std::uint64_t seq = m.params["seq"];
    // Every number once, or in a gap that says so.
    EXPECT_EQ(event["type"] == "gap" ? event["from"].get<std::uint64_t>() : seq, last + 1);
    last = seq;
    gaps += event["type"] == "gap" ? 1 : 0;
    told = told || (event["type"] == "warning" &&
                    event["text"].get<std::string>().find("not kept") != std::string::npos);
    ended = ended || (event["type"] == "state" && event["state"] == "stopped");
  }
  // Takes events until `condition`.
  void receive_until(const std::function<bool()>& condition) {
    while (!condition()) {
      auto in = c->receive(ipc::client::clock::now() + 60s);
      ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
      take(in->message);
    }
  }
  // Reads the ended session from the journal again.
  void read_again() {
    last = gaps = 0;
    const std::uint64_t next = call(ipc::session_follow_params{id, 1})["next"];
    receive_until([&] { return last + 1 >= next; });
  }

  std::optional<ipc::client> c;
  pid_t pid = -1;
  std::string disk, id;
  std::uint64_t last = 0, gaps = 0;
  bool told = false, ended = false;
};

TEST_F(SessionDisk, WhatIsMissingIsMarkedWhenThereIsRoomAgain) {
  start();
  EXPECT_EQ(follow_up("events 5000"), "survived events 5000");
  receive_until([&] { return last > 5000; }); // they come beside the answer
  EXPECT_TRUE(told) << "a follower is told at once";
  EXPECT_EQ(gaps, 0u) << "live followers miss nothing";
  std::filesystem::remove(disk + "/filler");
  EXPECT_EQ(follow_up("events 5"), "survived events 5");
  call(ipc::session_stop_params{id, false});
  receive_until([&] { return ended; });
  const auto all = last;
  read_again();
  EXPECT_EQ(last, all);
  EXPECT_GE(gaps, 1u);
  const auto document = call(ipc::session_status_params{id})["sessions"][0];
  EXPECT_EQ(document["state"], "stopped");
  EXPECT_EQ(document["text"], "survived events 5");
}

TEST_F(SessionDisk, ASessionThatEndsOnAFullDiskIsKeptAsEnded) {
  start();
  EXPECT_EQ(follow_up("events 5000"), "survived events 5000");
  EXPECT_TRUE(told);
  call(ipc::session_stop_params{id, false});
  receive_until([&] { return ended; });
  const auto all = last;
  read_again();
  EXPECT_EQ(last, all) << "the journal knows what it lacks";
  EXPECT_GE(gaps, 1u);
  const auto document = call(ipc::session_status_params{id})["sessions"][0];
  EXPECT_EQ(document["state"], "stopped");
  // And no other can begin without a word.
  ipc::session_start_params p;
  p.task = "hello";
  p.cwd = rig->workspace();
  std::ofstream(disk + "/filler2") << std::string(1u << 20, 'x');
  auto refused = c->call(p, 60s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failed().text.find("cannot be kept in the state directory"), std::string::npos)
      << refused.failed().text;
  EXPECT_NE(refused.failed().text.find("No space left"), std::string::npos);
}

} // namespace
} // namespace piorch
