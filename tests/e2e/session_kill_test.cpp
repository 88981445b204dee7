// SIGKILL for everybody, at any moment: nothing stays alive, nothing stays on disk but the
// journal, and nothing that was told before is lost.
#include "tests/e2e/session_fixture.hpp"
#include "tests/support/run.hpp"

#include <random>
#include <sstream>

namespace piorch {
namespace {

using namespace std::chrono_literals;

// The contract says a second; the rest is for a machine that is busy with other tests.
constexpr auto soon = 15s;

class SessionKill : public test::session_fixture {
protected:
  // The process of this rig whose command line contains `mark`.
  pid_t process(const std::string& mark) const {
    for (const pid_t pid : rig->everything())
      if (command_line(pid).find(mark) != std::string::npos)
        return pid;
    return -1;
  }
  static std::string command_line(pid_t pid) {
    return test::read_file("/proc/" + std::to_string(pid) + "/cmdline");
  }
  static bool is_worker(pid_t pid) { // Pi gives itself a title
    const auto line = command_line(pid);
    return line.find("--mode") != std::string::npos ||
           line.compare(0, 3, std::string("pi\0", 3)) == 0;
  }
  pid_t worker() const {
    for (const pid_t pid : rig->everything())
      if (is_worker(pid))
        return pid;
    return -1;
  }
  // Of the busy session: another sandbox may be making the compile cache.
  template <class Is> pid_t above_the_tool(Is&& is) const {
    for (pid_t pid = process("sleep"); pid > 1;) {
      if (is(pid))
        return pid;
      const auto stat = test::read_file("/proc/" + std::to_string(pid) + "/stat");
      std::istringstream after_name(stat.substr(std::min(stat.rfind(')') + 2, stat.size())));
      char state = 0;
      pid = -1;
      after_name >> state >> pid;
    }
    return -1;
  }
  static bool has_ended(pid_t child) {
    siginfo_t how{};
    return ::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           how.si_pid != 0;
  }
  bool nobody_within(std::chrono::milliseconds limit) const {
    return rig->within(limit, [&] { return rig->everything().empty(); });
  }
  // A worker in the middle of a run, with text that followers have seen.
  std::string start_busy() const {
    const auto started = rig->run({"start", "-d", "#steps " + steps});
    EXPECT_EQ(started.status, 0) << started.err;
    EXPECT_TRUE(rig->within(60s, [&] { return has_file("begun"); }));
    return rig->line(started.out);
  }
  const std::string steps =
      R"([{"text":"looking","tools":[{"name":"bash","arguments":{"command":"touch begun; trap '' TERM; sleep 1000 & wait; sleep 1000"}}]},{"text":"end"}])";
};

TEST_F(SessionKill, TheOrchestratorDiesAndTheSessionIsFailedWithItsText) {
  const auto id = start_busy();
  rig->end_orchestrator(SIGKILL);
  EXPECT_TRUE(nobody_within(soon));
  const auto document = rig->document(id); // starts another one
  EXPECT_EQ(document["state"], "failed");
  EXPECT_NE(document["error"].get<std::string>().find("orchestrator"), std::string::npos)
      << document;
  const auto seen = events(rig->run({"follow", id, "--json"}).out);
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const auto& e) {
    return e["event"]["type"] == "message" && e["event"]["text"] == "looking";
  }));
  EXPECT_EQ(rig->run({"start", "#plain goes on"}).out, "goes on\n");
  EXPECT_TRUE(no_litter()); // the start has swept
}

TEST_F(SessionKill, TheBrokerDies) {
  const auto id = start_busy();
  const pid_t victim = above_the_tool(
      [](pid_t pid) { return command_line(pid).find("piorch-broker") != std::string::npos; });
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  EXPECT_TRUE(rig->within(soon, [&] { return process("sleep") == -1; }));
  EXPECT_EQ(rig->run({"wait", id}).status, 1);
  const auto document = rig->document(id);
  EXPECT_EQ(document["state"], "failed");
  EXPECT_NE(document["error"].get<std::string>().find("broker"), std::string::npos) << document;
  EXPECT_EQ(rig->run({"start", "#plain goes on"}).out, "goes on\n");
  EXPECT_TRUE(no_litter());
}

TEST_F(SessionKill, TheWorkerDies) {
  const auto id = start_busy();
  const pid_t victim = above_the_tool(is_worker);
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  EXPECT_EQ(rig->run({"wait", id}).status, 1);
  EXPECT_TRUE(rig->within(soon, [&] { return process("sleep") == -1; }));
  const auto document = rig->document(id);
  EXPECT_EQ(document["state"], "failed");
  EXPECT_EQ(document["exit"], 137);
  EXPECT_TRUE(no_litter());
}

// From the request to the end of the tool's process, as the kernel tells it. On a machine
// that is busy with other tests the best of some counts.
TEST_F(SessionKill, AToolThatIgnoresSigtermIsGoneWithinASecond) {
  EXPECT_EQ(rig->run({"start", "#plain first"}).out, "first\n"); // the compile cache
  pid_t pid = -1;
  auto c = rig->connect_private(pid);
  auto best = std::chrono::steady_clock::duration::max();
  for (int round = 0; round < 5 && best >= 1s; ++round) {
    std::filesystem::remove(rig->workspace() + "/begun");
    ipc::session_start_params start;
    start.task = "#steps " + steps;
    start.cwd = rig->workspace();
    start.background = true;
    auto session = c.call(start, 60s);
    ASSERT_TRUE(session) << session.failed().text;
    const auto id = (*session)["session"]["id"].get<std::string>();
    ASSERT_TRUE(rig->within(60s, [&] { return has_file("begun") && process("sleep") > 1; }));
    const auto tool = test::watch_process(process("sleep"));
    const auto shell = test::watch_process(above_the_tool(is_worker));
    const auto begun = std::chrono::steady_clock::now();
    const auto stop = c.request(ipc::session_stop_params{id, false});
    ASSERT_TRUE(c.flush(ipc::client::clock::now() + 10s));
    ASSERT_TRUE(test::wait_readable(tool.get(), 10s));
    ASSERT_TRUE(test::wait_readable(shell.get(), 10s));
    best = std::min(best, std::chrono::steady_clock::now() - begun);
    for (bool answered = false; !answered;) {
      auto in = c.receive(ipc::client::clock::now() + 10s);
      ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
      answered = ipc::client::answer_to(stop, in->message).has_value();
    }
    EXPECT_EQ(process("sleep"), -1) << "the answer comes when the whole tree is gone";
    EXPECT_EQ(rig->document(id)["state"], "stopped");
  }
  EXPECT_LT(best, 1s);
  EXPECT_TRUE(c.call(ipc::shutdown_params{}, 10s));
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(no_litter());
}

TEST_F(SessionKill, AClientThatDiesStopsItsForegroundSession) {
  {
    auto client = rig->start({"start", "#steps " + steps});
    EXPECT_TRUE(rig->within(60s, [&] { return has_file("begun"); }));
  } // SIGKILL
  EXPECT_TRUE(rig->within(soon, [&] { return process("sleep") == -1; }));
  EXPECT_TRUE(rig->within(soon, [&] { return live() == 0; }));
}

// Somebody is killed at a random moment of a session's life.
TEST_F(SessionKill, AnybodyAtAnyMoment) {
  // Else those who make the compile cache could be hit instead.
  EXPECT_EQ(rig->run({"start", "#plain first"}).out, "first\n");
  ASSERT_TRUE(rig->within(60s, [&] { return worker() == -1; }));
  const int rounds = std::getenv("PIORCH_LONG") ? 300 : 12;
  std::mt19937 random(::getpid());
  for (int round = 0; round < rounds; ++round) {
    std::error_code ignored;
    std::filesystem::remove(rig->workspace() + "/begun", ignored);
    auto client =
        std::make_unique<test::session_rig::process>(rig->start({"start", "#steps " + steps}));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1200));
    const char* victims[] = {"piorch-serve", "piorch-broker", "worker", "client"};
    const std::string victim = victims[random() % 4];
    std::string told;
    if (victim == "client") {
      told = client->err();
      client.reset();
    } else if (const pid_t pid = victim == "worker" ? worker() : process(victim); pid > 1) {
      told = client->err();
      ::kill(pid, SIGKILL);
    } else {
      ::kill(client->pid(), SIGTERM); // it was not there yet
    }
    SCOPED_TRACE("round " + std::to_string(round) + ", " + victim);
    if (client) {
      ASSERT_TRUE(rig->within(60s, [&] { return has_ended(client->pid()); })) << client->err();
      EXPECT_NE(client->wait().status, 0);
    }
    nlohmann::json all;
    ASSERT_TRUE(rig->within(soon, [&] {
      all = rig->json({"status"})["sessions"];
      // The broker too: in the next round it could be hit for that round's own.
      return worker() == -1 && process("sleep") == -1 && process("piorch-broker") == -1 &&
             std::all_of(all.begin(), all.end(), [](const auto& d) {
               return d["state"] == "failed" || d["state"] == "stopped";
             });
    })) << all;
    if (told.find("looking") != std::string::npos) {
      ASSERT_FALSE(all.empty());
      const auto id = all.back()["id"].get<std::string>();
      ASSERT_NE(rig->run({"follow", id}).out.find("looking"), std::string::npos) << id;
    }
  }
  rig->end_orchestrator(SIGKILL);
  EXPECT_TRUE(nobody_within(soon));
  EXPECT_EQ(rig->run({"start", "#plain goes on"}).out, "goes on\n");
  EXPECT_TRUE(no_litter());
}

} // namespace
} // namespace piorch
