// Approvals with the real programs: piorch serve, its clients, real sandboxes whose
// curl wants to reach a host that no rule decides, and piorch approve beside them.
#include "tests/e2e/network_programs.hpp"

#include "ipc/client.hpp"
#include "ipc/start_instance.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace {

using namespace piorch;
using namespace piorch::test;
using namespace std::chrono_literals;
using ipc::client;
using nlohmann::json;

constexpr const char* fetch = "curl -sS http://www.example.org/";

class E2eApprovals : public E2eNetwork {
protected:
  void SetUp() override {
    E2eNetwork::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    runtime = directory + "/run";
    std::filesystem::create_directory(runtime);
    std::filesystem::permissions(runtime, std::filesystem::perms::owner_all);
    environment = "HOME='" + directory + "' XDG_RUNTIME_DIR='" + runtime + "' ";
  }
  void TearDown() override {
    if (orchestrator > 0) {
      ::kill(orchestrator, SIGKILL);
      ::waitpid(orchestrator, nullptr, 0);
    }
    E2eNetwork::TearDown();
  }

  // A private orchestrator and its client.
  client start(bool approves) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    orchestrator = ::fork();
    if (orchestrator == 0) {
      ::dup2(ends[1], 0);
      ::dup2(ends[1], 1);
      ::setenv("HOME", directory.c_str(), 1);
      ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
      ::execl(PIORCH_BUILD_DIR "/bin/piorch", "piorch", "serve", "--stdio", nullptr);
      ::_exit(99);
    }
    ::close(ends[1]);
    client c{ipc::unique_fd(ends[0])};
    auto hello = c.call(ipc::initialize_params{1, "owner", "1", approves}, 20s);
    EXPECT_TRUE(hello) << hello.failed().text;
    return c;
  }
  // Another client of the same orchestrator.
  client join(bool approves) {
    auto dir = ipc::instance_directory::open(runtime + "/piorch");
    EXPECT_TRUE(dir) << dir.failed().text;
    auto there = ipc::connect_to_all(*dir, {1, "another", "1", approves}, 10s);
    EXPECT_EQ(there.size(), 1u);
    return std::move(there.at(0).peer);
  }
  long long run(client& c, const std::string& command, const std::string& id = "c") {
    ipc::command_run_params p;
    p.id = id;
    p.command = command;
    p.cwd = workspace;
    return c.request(p);
  }

  // The next message that is `method`, or the answer to request `id`; output of
  // commands is collected.
  json next(client& c, const std::string& method, long long id = 0) {
    const auto until = client::clock::now() + 30s;
    for (;;) {
      auto in = c.receive(until);
      if (!in || in->what != client::incoming::kind::message)
        return in ? json{{"nothing", "came"}} : json{{"lost", in.failed().text}};
      auto& m = in->message;
      if (m.method == ipc::command_output_method)
        output += ipc::read<ipc::command_output>(m.params)->bytes;
      else if (!method.empty() && m.method == method)
        return {{"id", m.id.text()}, {"params", m.params}};
      else if (auto answer = client::answer_to(id, m))
        return *answer ? **answer : json{{"error", answer->failed().text}};
      else
        return {{"unexpected", m.method}, {"result", m.result}, {"error", m.failed.message}};
    }
  }
  json request(client& c) { return next(c, "approval.request"); }
  json result(client& c, long long id) { return next(c, "", id); }
  static void respond(client& c, const json& request, const json& decision) {
    c.answer(ipc::rpc_id(request["id"].get<std::string>()), decision);
    EXPECT_TRUE(c.flush(client::clock::now() + 5s));
  }
  static json pending(client& c) {
    auto all = c.call(ipc::approval_list_params{}, 10s);
    return all ? (*all)["approvals"] : json(all.failed().text);
  }
  // piorch ARGUMENTS, both streams.
  run_result piorch(const std::string& arguments) {
    run_result out;
    const std::string line = environment + PIORCH_BUILD_DIR "/bin/piorch " + arguments + " 2>&1";
    FILE* pipe = ::popen(line.c_str(), "r");
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;)
      out.output.append(block, n);
    const int status = ::pclose(pipe);
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return out;
  }
  void configure(const json& settings) {
    const std::string dir = directory + "/.pi/agent/extensions/pi-sandbox";
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/config.json") << settings;
  }
  static json entry(const char* decision, const char* source) {
    return {
        {{"host", "www.example.org"}, {"port", 80}, {"decision", decision}, {"source", source}}};
  }

  std::string runtime, environment, output;
  pid_t orchestrator = -1;
};

TEST_F(E2eApprovals, TheClientOfTheCommandAllowsOneConnection) {
  auto c = start(true);
  const auto id = run(c, fetch);
  const auto asked = request(c);
  const auto& p = asked["params"];
  EXPECT_EQ(p["surface"], "network") << asked;
  EXPECT_EQ(p["operation"], "connect");
  EXPECT_EQ(p["destination"], "www.example.org:80");
  EXPECT_EQ(p["command"], fetch);
  EXPECT_EQ(p["cwd"], workspace);
  EXPECT_EQ(p["expiresAt"].get<std::string>().back(), 'Z');
  EXPECT_TRUE(dns->log().empty()); // not before the answer
  respond(c, asked, {{"action", "allow"}, {"source", "user"}});
  const auto how = result(c, id);
  EXPECT_EQ(how["exitCode"], 0) << how;
  EXPECT_EQ(output, "public");
  EXPECT_EQ(how["network"], entry("allow", "user"));
}

TEST_F(E2eApprovals, AnApprovalIsForOneConnection) {
  auto c = start(true);
  const auto id = run(c, std::string(fetch) + "; " + fetch);
  for (int i = 0; i < 2; ++i)
    respond(c, request(c), {{"action", "allow"}});
  EXPECT_EQ(result(c, id)["exitCode"], 0);
  EXPECT_EQ(output, "publicpublic");
}

TEST_F(E2eApprovals, ADenialIsToldWithItsReasonAndNotAskedAgain) {
  auto c = start(true);
  const auto id = run(c, std::string(fetch) + "; " + fetch);
  respond(c, request(c), {{"action", "deny"}, {"reason", "not on a Sunday\x1b[2J"}});
  const auto how = result(c, id); // and no second request
  EXPECT_TRUE(how.contains("exitCode")) << how;
  EXPECT_TRUE(has(output, "not on a Sunday\\x1b[2J")) << output;
  EXPECT_TRUE(has(output, "not asked again")) << output;
  EXPECT_EQ(how["network"][0]["decision"], "deny");
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eApprovals, NobodyThereIsADenialAtOnce) {
  auto c = start(false);
  const auto began = client::clock::now();
  const auto how = result(c, run(c, fetch));
  EXPECT_LT(client::clock::now() - began, 15s); // not the five minutes of a question
  EXPECT_TRUE(has(output, "nobody can be asked")) << output;
  EXPECT_TRUE(has(output, "--allow-domain www.example.org")) << output;
  EXPECT_EQ(how["network"], entry("deny", "noApprover"));
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eApprovals, SilenceIsADenial) {
  configure({{"approvals", {{"timeoutSeconds", 1}}}});
  auto c = start(true);
  const auto id = run(c, fetch);
  const auto asked = request(c);
  const auto over = next(c, "approval.cancelled");
  EXPECT_EQ(over["params"], json({{"id", asked["params"]["id"]}})) << over;
  respond(c, asked, {{"action", "allow"}}); // too late
  const auto how = result(c, id);
  EXPECT_EQ(how["network"], entry("deny", "approvalTimeout")) << how;
  EXPECT_TRUE(has(output, "within 1 second")) << output;
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eApprovals, RulesComeBeforeQuestions) {
  configure({{"network",
              {{"allowedDomains", {"www.example.org"}}, {"deniedDomains", {"*.example.net"}}}}});
  auto c = start(true);
  const auto how = result(c, run(c, std::string(fetch) + "; curl -sS http://a.example.net/"));
  EXPECT_TRUE(has(output, "public")) << output;
  EXPECT_TRUE(has(output, "*.example.net")) << output;
  EXPECT_EQ(how["network"].size(), 2u) << how;
}

TEST_F(E2eApprovals, AnotherClientAnswersForOneThatDoesNot) {
  auto c = start(false);
  auto other = join(true);
  const auto id = run(c, fetch);
  ASSERT_TRUE(c.flush(client::clock::now() + 5s));
  respond(other, request(other), {{"action", "allow"}});
  EXPECT_EQ(result(c, id)["network"], entry("allow", "approval"));
  EXPECT_EQ(output, "public");
}

TEST_F(E2eApprovals, OfTwoAnswersTheFirstCounts) {
  auto c = start(false);
  auto one = join(true), two = join(true);
  const auto id = run(c, fetch);
  ASSERT_TRUE(c.flush(client::clock::now() + 5s));
  const auto first = request(one), second = request(two);
  EXPECT_EQ(first["params"], second["params"]);
  respond(one, first, {{"action", "allow"}, {"source", "one"}});
  respond(two, second, {{"action", "deny"}, {"source", "two"}});
  const auto how = result(c, id);
  const bool one_won = how["network"] == entry("allow", "one");
  EXPECT_TRUE(one_won || how["network"] == entry("deny", "two")) << how;
  const auto told = next(one_won ? two : one, "approval.cancelled");
  EXPECT_EQ(told["params"]["id"], first["params"]["id"]) << told;
}

TEST_F(E2eApprovals, AClientThatIsGoneTakesItsQuestionsAlong) {
  auto c = start(true);
  auto dir = ipc::instance_directory::open(runtime + "/piorch");
  auto watcher = join(false);
  {
    auto owner = join(true);
    run(owner, fetch);
    request(owner);
    EXPECT_EQ(pending(watcher).size(), 1u);
  }
  // The command ends with its client; until then the question may go to another one.
  auto list = watcher.call(ipc::approval_list_params{}, 10s);
  while (list && !(*list)["approvals"].empty())
    list = watcher.call(ipc::approval_list_params{(*list)["revision"].get<std::uint64_t>()}, 10s);
  ASSERT_TRUE(list) << list.failed().text;
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eApprovals, AConnectionOrCommandThatIsGoneWithdrawsItsQuestion) {
  auto c = start(true);
  run(c, std::string(fetch) + " & while [ ! -e go ]; do sleep 0.05; done; kill $!; sleep 60");
  const auto asked = request(c);
  std::ofstream(workspace + "/go");
  EXPECT_EQ(next(c, "approval.cancelled")["params"]["id"], asked["params"]["id"]);
  run(c, fetch, "d");
  const auto again = request(c);
  std::string withdrawn; // in no promised order with the answers of command.cancel and command.run
  c.on_other = [&](ipc::rpc_message& m) {
    if (m.method == ipc::approval_cancelled_method)
      withdrawn = m.params["id"];
  };
  ASSERT_TRUE(c.call(ipc::command_cancel_params{"d"}, 10s));
  for (const auto until = client::clock::now() + 30s; withdrawn.empty();) {
    auto in = c.receive(until);
    ASSERT_TRUE(in && in->what == client::incoming::kind::message);
    c.on_other(in->message);
  }
  EXPECT_EQ(withdrawn, again["params"]["id"]);
  EXPECT_TRUE(pending(c).empty());
}

TEST_F(E2eApprovals, APersonAnswersInAnotherTerminal) {
  auto c = start(true);
  EXPECT_EQ(piorch("approvals").output, "nothing waits for approval\n");
  const auto id = run(c, fetch);
  const std::string name = request(c)["params"]["id"];
  const auto shown = piorch("approvals");
  EXPECT_EQ(shown.status, 0);
  for (const auto& part : {name, std::string("connect to www.example.org:80"), std::string(fetch)})
    EXPECT_TRUE(has(shown.output, part)) << shown.output;
  const auto listed = json::parse(piorch("approvals --json").output);
  EXPECT_EQ(listed["approvals"][0]["id"], name) << listed;
  const auto done = piorch("approve " + name);
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(next(c, "approval.cancelled")["params"]["id"], name);
  EXPECT_EQ(result(c, id)["network"], entry("allow", "approval"));
  EXPECT_EQ(output, "public");

  const auto late = piorch("deny " + name);
  EXPECT_EQ(late.status, 3);
  EXPECT_TRUE(has(late.output, name)) << late.output;
  EXPECT_EQ(piorch("approve nonsense").status, 3);
  EXPECT_EQ(piorch("approve").status, 2);
}

TEST_F(E2eApprovals, APersonDeniesInAnotherTerminal) {
  auto c = start(true);
  const auto id = run(c, fetch);
  const std::string name = request(c)["params"]["id"];
  const auto done = piorch("deny " + name + " --reason 'ask me tomorrow'");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(next(c, "approval.cancelled")["params"]["id"], name);
  EXPECT_EQ(result(c, id)["network"], entry("deny", "approval"));
  EXPECT_TRUE(has(output, "ask me tomorrow")) << output;
}

TEST_F(E2eApprovals, WatchingShowsEveryChangeAlsoOfOrchestratorsThatComeLater) {
  FILE* pipe = ::popen(
      ("exec env " + environment + PIORCH_BUILD_DIR "/bin/piorch approvals --watch --json").c_str(),
      "r");
  char line[8192];
  const auto next_line = [&]() -> json {
    return std::fgets(line, sizeof line, pipe) ? json::parse(line)["approvals"] : json("nothing");
  };
  EXPECT_EQ(next_line(), json::array());
  {
    auto c = start(true); // later than the watcher
    const auto id = run(c, fetch);
    const auto asked = request(c);
    const auto shown = next_line();
    ASSERT_EQ(shown.size(), 1u) << shown;
    EXPECT_EQ(shown[0], asked["params"]);
    respond(c, asked, {{"action", "deny"}});
    EXPECT_EQ(next_line(), json::array());
    result(c, id);
    run(c, fetch, "d");
    request(c);
    EXPECT_EQ(next_line().size(), 1u);
  }
  EXPECT_EQ(next_line(), json::array()); // the orchestrator went, and its questions
  EXPECT_EQ(::pclose(pipe), 0);          // it ends when nobody reads it any more
}

} // namespace
