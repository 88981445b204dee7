// Workers of pi-subagents through the orchestrator: supervisor, desk and client together, with
// fake connections and a fake clock.
#include "actors/worker_supervisor.hpp"

#include "actors/approval_desk.hpp"
#include "actors/client.hpp"
#include "actors/keeper.hpp"
#include "ipc/json_text.hpp"
#include "tests/support/actor_test.hpp"

#include <nlohmann/json.hpp>

#include <deque>

namespace piorch::actors {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using kind = ipc::worker_frame::kind;

class ActorsWorkerSupervisor : public test::actor_test {
protected:
  struct fake_link {
    std::uint64_t number = 0;
    std::deque<json> lines;
    bool kept = false;
  };

  ActorsWorkerSupervisor() {
    keeper = sys.spawn(keeper_actor, keeper_options{});
    desk = sys.spawn(approval_desk_actor,
                     approval_desk_options{[] { return orchestration::instant(); }, "t-"});
    client_port port;
    port.send = [this](const std::string& line) {
      json message;
      EXPECT_EQ(ipc::parse_json(line, message).fault, ipc::json_fault::none) << line;
      to_client.push_back(std::move(message));
    };
    port.shut = [] {};
    client_services services;
    services.keeper = keeper;
    services.commands.desk = desk;
    services.supervise = [this](const ipc::worker_supervise_params& p, const caf::actor& c) {
      worker_supervisor_options options;
      options.project = p.cwd;
      options.approval_limit = 300s;
      options.desk = desk;
      options.client = c;
      options.now = [] { return orchestration::instant(); };
      options.close = [this] { ++closed; };
      client_services::supervision out;
      out.supervisor = supervisor = sys.spawn(worker_supervisor_actor, std::move(options));
      out.place = {"/run/s.sock", "secret"};
      return result<client_services::supervision>(out);
    };
    client = sys.spawn(client_actor, std::move(port), std::move(services));
    call(ipc::initialize_params{1, "test", "1", true});
    call(ipc::worker_supervise_params{"/project", {}});
    to_client.pop_front();
    EXPECT_EQ(to_client.front()["result"],
              json({{"socket", "/run/s.sock"}, {"capability", "secret"}}));
    to_client.clear();
  }
  ~ActorsWorkerSupervisor() override {
    supervisor = nullptr;
    end_the_client();
    caf::anon_send_exit(keeper, caf::exit_reason::kill);
    caf::anon_send_exit(desk, caf::exit_reason::kill);
    keeper = nullptr;
    desk = nullptr;
    run();
  }

  void call(ipc::rpc_call what) {
    tell(client, client_asked{ipc::rpc_id::number(1), std::move(what)});
    run();
  }
  void end_the_client() {
    if (!client)
      return;
    tell(client, client_gone{});
    client = nullptr;
    run();
  }
  std::shared_ptr<fake_link> connect() {
    auto l = std::make_shared<fake_link>();
    l->number = ++links;
    return l;
  }
  ipc::worker_frame frame(kind what, const std::string& worker = "w") {
    ipc::worker_frame f;
    f.what = what;
    f.id = std::to_string(++frames);
    f.worker_id = worker;
    f.cwd = "/project";
    f.agent = "scout";
    f.host = "example.org";
    f.port = 443;
    f.lease = true;
    return f;
  }
  void say(const std::shared_ptr<fake_link>& l, const ipc::worker_frame& f) {
    worker_link_port back;
    back.send = [l](const std::string& line) { l->lines.push_back(json::parse(line)); };
    back.shut = [] {};
    back.keep = [l] { l->kept = true; };
    tell(supervisor, worker_said{l->number, 4711, f, back});
    run();
  }
  void close(const std::shared_ptr<fake_link>& l) {
    tell(supervisor, worker_link_closed{l->number});
    run();
  }
  static json take(std::deque<json>& from) {
    if (from.empty())
      return {{"nothing", "was sent"}};
    json line = std::move(from.front());
    from.pop_front();
    return line;
  }
  json news() {
    auto line = take(to_client);
    return line.value("method", "") == "worker.changed" ? line["params"]["worker"] : line;
  }
  void respond(const json& request, const json& result) {
    ipc::rpc_message m;
    m.what = ipc::rpc_message::kind::response;
    m.id = ipc::rpc_id(request["id"].dump());
    m.result = result;
    tell(client, client_answered{m});
    run();
  }
  std::shared_ptr<fake_link> signed_in() {
    auto l = connect();
    say(l, frame(kind::register_worker));
    l->lines.clear();
    to_client.clear();
    return l;
  }

  keeper_handle keeper;
  approval_desk_handle desk;
  worker_supervisor_handle supervisor;
  client_handle client;
  std::deque<json> to_client;
  std::uint64_t links = 0;
  int frames = 0;
  int closed = 0;
};

TEST_F(ActorsWorkerSupervisor, ARegistrationCarriesThePolicyAndTheClientHears) {
  auto l = connect();
  say(l, frame(kind::register_worker));
  const auto reply = take(l->lines);
  EXPECT_EQ(reply["action"], "allow");
  EXPECT_EQ(reply["id"], "1");
  EXPECT_EQ(reply["network"],
            json({{"allowedDomains", json::array()}, {"deniedDomains", json::array()}}));
  EXPECT_EQ(reply["heartbeatSeconds"], 10);
  EXPECT_TRUE(l->kept);
  const auto w = news();
  EXPECT_EQ(w["state"], "running");
  EXPECT_EQ(w["agent"], "scout");
  EXPECT_EQ(w["pid"], 4711);
  EXPECT_EQ(w["number"], 1);
}

TEST_F(ActorsWorkerSupervisor, AWorkerElsewhereIsRefusedWithAReason) {
  auto l = connect();
  auto f = frame(kind::register_worker);
  f.cwd = "/elsewhere";
  say(l, f);
  const auto reply = take(l->lines);
  EXPECT_EQ(reply["action"], "deny");
  EXPECT_NE(reply["reason"].get<std::string>().find("/project"), std::string::npos);
  EXPECT_TRUE(to_client.empty());
  EXPECT_FALSE(l->kept);
}

TEST_F(ActorsWorkerSupervisor, AQuestionIsAnsweredByTheClientAndCountsOnce) {
  auto l = signed_in();
  const auto asks = frame(kind::network);
  say(l, asks);
  const auto request = take(to_client);
  EXPECT_EQ(request["params"]["destination"], "example.org:443");
  EXPECT_EQ(request["params"]["agentName"], "scout");
  say(l, asks); // a repetition
  EXPECT_EQ(take(l->lines)["action"], "deny");
  EXPECT_TRUE(to_client.empty());
  respond(request, {{"action", "allow"}, {"source", "user"}});
  const auto answer = take(l->lines);
  EXPECT_EQ(answer["id"], asks.id);
  EXPECT_EQ(answer["action"], "allow");
}

TEST_F(ActorsWorkerSupervisor, ALongQuestionHasAHeartbeatAndAnEnd) {
  auto l = signed_in();
  say(l, frame(kind::network));
  EXPECT_EQ(take(to_client)["method"], "approval.request");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(l->lines.empty());
    advance(10s);
    EXPECT_EQ(take(l->lines)["type"], "heartbeat");
  }
  advance(300s);
  json last;
  while (!l->lines.empty())
    last = take(l->lines);
  EXPECT_EQ(last["action"], "deny");
  advance(60s);
  EXPECT_TRUE(l->lines.empty()); // and silence afterwards
}

TEST_F(ActorsWorkerSupervisor, AWorkerOfAnotherDirectoryOrNoneCannotAsk) {
  auto l = signed_in();
  auto f = frame(kind::network);
  f.cwd = "/project/sub";
  say(l, f);
  EXPECT_EQ(take(l->lines)["action"], "deny");
  say(l, frame(kind::network, "nobody"));
  EXPECT_EQ(take(l->lines)["action"], "deny");
  EXPECT_TRUE(to_client.empty());
}

TEST_F(ActorsWorkerSupervisor, TheEndIsToldWithItsEvidence) {
  auto l = signed_in();
  say(l, frame(kind::network));
  take(to_client);
  auto f = frame(kind::unregister);
  f.exit_code = 3;
  say(l, f);
  EXPECT_EQ(take(l->lines)["action"], "allow");
  bool cancelled = false;
  json w;
  while (!to_client.empty()) {
    auto line = take(to_client);
    cancelled = cancelled || line["method"] == "approval.cancelled";
    if (line["method"] == "worker.changed")
      w = line["params"]["worker"];
  }
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(w["state"], "failed");
  EXPECT_EQ(w["exitCode"], 3);
  EXPECT_TRUE(w.contains("endedAt"));
}

TEST_F(ActorsWorkerSupervisor, ALostConnectionIsTheEndOfItsWorker) {
  auto l = signed_in();
  close(l);
  const auto w = news();
  EXPECT_EQ(w["state"], "failed");
  EXPECT_EQ(w["reason"], "its wrapper was killed");
  say(l, frame(kind::unregister));
  EXPECT_EQ(take(l->lines)["action"], "deny");
}

TEST_F(ActorsWorkerSupervisor, AnotherSessionIsTheEndOfThisOne) {
  signed_in();
  call(ipc::worker_supervise_params{"/project", {}});
  EXPECT_EQ(closed, 1);
  end_the_client();
  supervisor = nullptr;
  run();
  EXPECT_EQ(closed, 2);
}

} // namespace
} // namespace piorch::actors
