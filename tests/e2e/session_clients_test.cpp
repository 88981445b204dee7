// Sessions of many clients and of several orchestrators, with real Pi: who gets which answer, and
// what all of them together may have.
#include "tests/e2e/session_fixture.hpp"

namespace piorch {
namespace {

using namespace std::chrono_literals;

class SessionClients : public test::session_fixture {
protected:
  // The id of a background session at this client's orchestrator.
  std::string start_in(ipc::client& c, const std::string& task) const {
    ipc::session_start_params p;
    p.task = task;
    p.cwd = rig->workspace();
    p.background = true;
    const auto answer = c.call(p, 60s);
    if (!answer)
      throw std::runtime_error(answer.failed().text);
    return (*answer)["session"]["id"];
  }
};

TEST_F(SessionClients, HundredFollowUpsAtOnceGetHundredAnswers) {
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  const auto id = start_in(c, "#plain begin");
  std::map<long long, std::string> wanted;
  for (int i = 0; i < 100; ++i) {
    ipc::session_follow_up_params p;
    p.session_id = id;
    p.task = "#plain answer " + std::to_string(i);
    wanted[c.request(p)] = "answer " + std::to_string(i);
  }
  while (!wanted.empty()) {
    auto in = c.receive(ipc::client::clock::now() + 60s);
    ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
    for (auto i = wanted.begin(); i != wanted.end(); ++i)
      if (auto answer = ipc::client::answer_to(i->first, in->message)) {
        ASSERT_TRUE(*answer) << answer->failed().text;
        EXPECT_EQ((**answer)["text"], i->second);
        wanted.erase(i);
        break;
      }
  }
  EXPECT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  ::waitpid(pid, nullptr, 0);
}

TEST_F(SessionClients, RacingStartsNeverExceedFour) {
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  std::vector<long long> ids;
  for (int i = 0; i < 200; ++i) {
    ipc::session_start_params p;
    p.task = "#hang x";
    p.cwd = rig->workspace();
    p.background = true;
    ids.push_back(c.request(p));
  }
  int started = 0, refused = 0;
  while (started + refused < 200) {
    auto in = c.receive(ipc::client::clock::now() + 60s);
    ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
    for (const auto id : ids)
      if (auto answer = ipc::client::answer_to(id, in->message)) {
        if (*answer) {
          ++started;
        } else {
          ++refused;
          EXPECT_EQ(answer->failed().text, "subagent concurrency limit reached (4)");
        }
      }
  }
  EXPECT_EQ(started, 4);
  ipc::session_stop_params all;
  all.all = true;
  EXPECT_TRUE(c.call(all, 10s));
  c = ipc::client(ipc::unique_fd());
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(rig->within(20s, [&] { return rig->everything().empty(); }));
}

TEST_F(SessionClients, TwoParentsFourSessionsThreeDeep) {
  const auto handoff = [&](const std::string& parent, const std::string& task) {
    const auto how = rig->run({"handoff", "-d", parent, task});
    EXPECT_EQ(how.status, 0) << how.err;
    return rig->line(how.out);
  };
  const auto one = start_idle("one");
  const auto two = start_idle("two");
  const auto child = handoff("one", "#plain child");
  const auto grandchild = handoff(child, "#plain grandchild");
  EXPECT_EQ(rig->document(grandchild)["depth"], 3);
  EXPECT_EQ(rig->document(grandchild)["parentId"], child);
  EXPECT_EQ(live(), 4u);
  for (const auto& words : {std::vector<std::string>{"start", "-d", "#plain x"},
                            {"handoff", "-d", "two", "#plain x"}}) {
    const auto fifth = rig->run(words);
    EXPECT_EQ(fifth.status, 5);
    EXPECT_NE(fifth.err.find("subagent concurrency limit reached (4)"), std::string::npos);
  }
  EXPECT_EQ(rig->run({"stop", "two"}).status, 0);
  const auto deep = rig->run({"handoff", "-d", grandchild, "#plain x"});
  EXPECT_EQ(deep.status, 5);
  EXPECT_NE(deep.err.find("subagent nesting depth limit reached (3)"), std::string::npos);
  // A parent may end before its children; they stay, and may have children of its own depth.
  EXPECT_EQ(rig->run({"stop", "one"}).status, 0);
  EXPECT_EQ(rig->document(handoff("one", "#plain late"))["depth"], 2);
  EXPECT_EQ(rig->run({"follow-up", grandchild, "#plain still here"}).out, "still here\n");
  EXPECT_EQ(live(), 3u);
}

// Neither the orchestrator nor the broker of an idle session wakes up for nothing.
TEST_F(SessionClients, AnIdleSessionCostsNoProcessorTime) {
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  const auto started = start_in(c, "#plain ready");
  ipc::session_wait_params wait;
  wait.session_id = started;
  ASSERT_TRUE(c.call(wait, 60s));
  // The first session's worker also has the compile cache made.
  const auto brokers = [&] {
    std::vector<pid_t> found;
    for (const auto p : rig->everything())
      if (test::read_file("/proc/" + std::to_string(p) + "/comm") == "piorch-broker\n")
        found.push_back(p);
    return found;
  };
  ASSERT_TRUE(rig->within(60s, [&] { return brokers().size() == 1; }));
  const auto wakeups = [](pid_t p) {
    std::size_t sum = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(p) + "/task")) {
      std::ifstream in(task.path() / "status");
      for (std::string word; in >> word;)
        if (std::size_t n = 0; word == "voluntary_ctxt_switches:" && in >> n)
          sum += n;
    }
    return sum;
  };
  const std::vector<pid_t> watched{pid, brokers().front()};
  for (const auto p : watched) {
    // What the first worker and its start have set in motion comes to rest.
    std::size_t before = wakeups(p);
    EXPECT_TRUE(rig->within(60s, [&] {
      auto quiet = c.receive(ipc::client::clock::now() + 2s); // nothing is to come
      EXPECT_TRUE(quiet && quiet->what == ipc::client::incoming::kind::too_late);
      return std::exchange(before, wakeups(p)) == before;
    })) << "it wakes up all the time";
  }
  EXPECT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  ::waitpid(pid, nullptr, 0);
}

// The whole table again whenever something changes, until nobody reads it.
TEST_F(SessionClients, StatusWatchesAllOrchestratorsAndWaitsAnyOfThem) {
  auto shown = rig->start({"status", "--watch", "--json"});
  const auto sees = [&](const std::string& id, const std::string& state) {
    return rig->within(60s, [&] {
      const auto lines = shown.out();
      const auto end = lines.rfind('\n');
      if (end == std::string::npos)
        return false;
      const auto begin = end == 0 ? std::string::npos : lines.rfind('\n', end - 1);
      const auto from = begin == std::string::npos ? 0 : begin + 1;
      const auto newest = nlohmann::json::parse(lines.substr(from, end - from));
      return std::any_of(newest["sessions"].begin(), newest["sessions"].end(),
                         [&](const auto& d) { return d["id"] == id && d["state"] == state; });
    });
  };
  const auto mine = start_idle("mine");
  EXPECT_TRUE(sees(mine, "idle")) << shown.out();

  // An orchestrator that comes up later, and is killed.
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  const auto other = start_in(c, "#hang x");
  EXPECT_TRUE(sees(other, "running")) << shown.out();

  auto one = rig->start({"status", mine, "--watch", "--json"});
  auto any = rig->start({"wait", "--any", other, mine});
  EXPECT_EQ(any.wait().out, "ready\n") << "the other orchestrator's session has not settled";
  auto both = rig->start({"wait", other, mine});
  EXPECT_TRUE(rig->within(60s, [&] { return both.out() == "ready\n"; }));

  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(both.wait().status, 4); // its orchestrator is lost
  EXPECT_TRUE(sees(other, "failed")) << shown.out();
  EXPECT_EQ(rig->run({"stop", mine}).status, 0);
  EXPECT_TRUE(sees(mine, "stopped")) << shown.out();
  const auto how = one.wait(); // it has ended
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_NE(how.out.find("\"state\":\"stopped\""), std::string::npos) << how.out;
}

} // namespace
} // namespace piorch
