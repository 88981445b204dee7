// The client, command, remote_broker and keeper actors together, with a fake
// connection, a fake broker process and a fake clock.
#include "actors/approval_desk.hpp"
#include "actors/client.hpp"
#include "actors/keeper.hpp"
#include "config/limits.hpp"
#include "ipc/json_text.hpp"
#include "sandbox/remote_job.hpp"
#include "tests/support/actor_test.hpp"

#include <nlohmann/json.hpp>

#include <deque>

namespace piorch::actors {
namespace {

using namespace std::chrono_literals;
using ipc::frame_type;
using nlohmann::json;

class ActorsOrchestrator : public test::actor_test {
protected:
  // What a broker process was told.
  struct fake_broker {
    remote_broker_handle actor;
    sandbox::remote_job job;
    std::string input;
    bool input_closed = false;
    std::size_t granted = 0;
    std::vector<frame_type> frames;
    bool killed = false;
    bool hung_up = false;
  };
  struct fake_client {
    client_handle actor;
    std::deque<json> lines;
    std::size_t unwritten = 0;
    bool shut = false;
  };

  ActorsOrchestrator() {
    keeper_options options;
    options.idle_limit = 60s;
    options.end = [this] { ++ends; };
    keeper = sys.spawn(keeper_actor, std::move(options));
    desk = sys.spawn(approval_desk_actor,
                     approval_desk_options{[] { return orchestration::instant(); }, "t-"});
    run();
  }
  ~ActorsOrchestrator() override {
    for (auto& c : clients)
      caf::anon_send_exit(c->actor, caf::exit_reason::kill);
    caf::anon_send_exit(keeper, caf::exit_reason::kill);
    caf::anon_send_exit(desk, caf::exit_reason::kill);
    run();
    for (auto& b : brokers) {
      tell(b->actor, broker_gone{});
      b->actor = nullptr;
    }
    clients.clear();
    keeper = nullptr;
    desk = nullptr;
    run();
  }

  broker_starter starter() {
    return [this](remote_broker_handle actor, std::string job) {
      auto b = std::make_shared<fake_broker>();
      b->actor = std::move(actor);
      auto read = sandbox::read_job(job);
      EXPECT_TRUE(read) << read.failed().text;
      b->job = std::move(*read);
      brokers.push_back(b);
      broker_line line;
      line.send = [b](frame_type what, std::string) { b->frames.push_back(what); };
      line.input = [b](std::string bytes) { b->input += bytes; };
      line.close_input = [b] { b->input_closed = true; };
      line.grant = [b](std::size_t n) { b->granted += n; };
      line.kill = [b] { b->killed = true; };
      line.hang_up = [b] { b->hung_up = true; };
      return line;
    };
  }
  fake_client& connect(bool is_private = false) {
    auto c = std::make_shared<fake_client>();
    client_port port;
    port.send = [c](std::string line) {
      json message;
      EXPECT_EQ(ipc::parse_json(line, message).fault, ipc::json_fault::none);
      c->unwritten += line.size() + 1;
      c->lines.push_back(std::move(message));
    };
    port.shut = [c] { c->shut = true; };
    c->actor =
        sys.spawn(client_actor, std::move(port), client_services{starter(), {}, keeper, {}, desk});
    tell(keeper, watch_client{caf::actor_cast<caf::actor>(c->actor), is_private});
    clients.push_back(c);
    ask(*c, 0, ipc::initialize_params{});
    EXPECT_TRUE(take(*c).contains("result"));
    return *c;
  }
  void ask(fake_client& c, int id, ipc::rpc_call call) {
    tell(c.actor, client_asked{ipc::rpc_id::number(id), std::move(call)});
    run();
  }
  json take(fake_client& c) {
    if (c.lines.empty())
      return "nothing was sent";
    json line = std::move(c.lines.front());
    c.lines.pop_front();
    return line;
  }
  void write_all(fake_client& c) {
    tell(c.actor, client_written{std::exchange(c.unwritten, 0)});
    run();
  }
  static ipc::command_run_params command(const std::string& id) {
    ipc::command_run_params p;
    p.id = id;
    p.command = "make";
    p.cwd = "/w";
    return p;
  }
  void say(fake_broker& b, frame_type what, std::string payload = {}) {
    tell(b.actor, broker_frame{what, std::move(payload)});
    run();
  }
  void end(fake_broker& b, const std::string& why = {}) {
    tell(b.actor, broker_gone{why});
    run();
  }
  static std::string report(int exit_code) {
    sandbox::exec_report r;
    r.how.exit_code = exit_code;
    return sandbox::report_json(r);
  }

  keeper_handle keeper;
  approval_desk_handle desk;
  std::vector<std::shared_ptr<fake_broker>> brokers;
  std::vector<std::shared_ptr<fake_client>> clients;
  int ends = 0;
};

TEST_F(ActorsOrchestrator, AnswersACommandOnlyWhenItsBrokerIsGone) {
  auto& c = connect();
  auto p = command("x");
  p.timeout = 1500ms;
  p.input = "in";
  ask(c, 1, p);
  ASSERT_EQ(brokers.size(), 1u);
  auto& b = *brokers[0];
  EXPECT_EQ(b.job.arguments.back(), "make");
  EXPECT_EQ(b.job.time_limit, 1500ms);
  EXPECT_EQ(b.input, "in");
  EXPECT_TRUE(b.input_closed);
  say(b, frame_type::exit_report, report(7));
  EXPECT_TRUE(c.lines.empty()) << "its tree may still be there";
  end(b);
  const json answer = take(c);
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["result"]["exitCode"], 7);
}

TEST_F(ActorsOrchestrator, GrantsOutputOnlyWhenTheClientHasIt) {
  auto& c = connect();
  ask(c, 1, command("x"));
  write_all(c);
  say(*brokers[0], frame_type::output, "hello");
  say(*brokers[0], frame_type::error_output, "err");
  EXPECT_EQ(take(c)["params"], json({{"id", "x"}, {"stream", "stdout"}, {"data", "aGVsbG8="}}));
  EXPECT_EQ(take(c)["params"]["stream"], "stderr");
  EXPECT_EQ(brokers[0]->granted, 0u);
  write_all(c);
  EXPECT_EQ(brokers[0]->granted, 8u);
}

TEST_F(ActorsOrchestrator, CancelStopsTheBrokerAndKillsOneThatHangs) {
  auto& c = connect();
  ask(c, 1, command("x"));
  ask(c, 2, ipc::command_cancel_params{"x"});
  EXPECT_EQ(take(c)["id"], 2);
  EXPECT_EQ(brokers[0]->frames, std::vector<frame_type>{frame_type::stop});
  EXPECT_FALSE(brokers[0]->killed);
  advance(1s);
  EXPECT_TRUE(brokers[0]->killed);
  end(*brokers[0], "killed by signal 9");
  const json answer = take(c);
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["result"]["cancelled"], true);
}

TEST_F(ActorsOrchestrator, ALostBrokerIsAnErrorAndNoResult) {
  auto& c = connect();
  ask(c, 1, command("x"));
  end(*brokers[0], "killed by signal 9");
  const json answer = take(c);
  EXPECT_EQ(answer["error"]["code"], -32603);
  EXPECT_NE(answer["error"]["message"].get<std::string>().find("killed by signal 9"),
            std::string::npos);
}

TEST_F(ActorsOrchestrator, PassesOnWhyABrokerCouldNotRunIt) {
  auto& c = connect();
  ask(c, 1, command("x"));
  say(*brokers[0], frame_type::failed,
      sandbox::failure_text({failure::configuration_invalid, "config.json: x"}));
  end(*brokers[0]);
  const json answer = take(c);
  EXPECT_EQ(answer["error"]["code"], -32006);
  EXPECT_EQ(answer["error"]["message"], "config.json: x");
}

TEST_F(ActorsOrchestrator, RunsCommandsSideBySideAndRefusesAnIdTwice) {
  auto& c = connect();
  ask(c, 1, command("a"));
  ask(c, 2, command("b"));
  ask(c, 3, command("a"));
  EXPECT_EQ(take(c)["error"]["code"], -32602);
  ASSERT_EQ(brokers.size(), 2u);
  say(*brokers[1], frame_type::exit_report, report(0));
  end(*brokers[1]);
  EXPECT_EQ(take(c)["id"], 2);
  EXPECT_TRUE(c.lines.empty());
}

TEST_F(ActorsOrchestrator, AClientThatIsGoneTakesItsCommandsAlong) {
  auto& c = connect();
  ask(c, 1, command("x"));
  tell(c.actor, client_gone{});
  run();
  EXPECT_EQ(brokers[0]->frames, std::vector<frame_type>{frame_type::stop});
  EXPECT_EQ(ends, 0);
}

TEST_F(ActorsOrchestrator, RefusesMoreRequestsInFlightThanAllowed) {
  auto& c = connect();
  for (std::size_t i = 0; i < limits::client_requests; ++i)
    tell(c.actor, client_asked{ipc::rpc_id::number(static_cast<int>(i + 1)),
                               command("c" + std::to_string(i))});
  run();
  EXPECT_TRUE(c.lines.empty());
  ask(c, 99999, command("more"));
  EXPECT_EQ(take(c)["error"]["code"], -32001);
  say(*brokers[0], frame_type::exit_report, report(0));
  end(*brokers[0]);
  take(c);
  ask(c, 99999, ipc::command_cancel_params{"none"});
  EXPECT_TRUE(take(c).contains("result"));
}

TEST_F(ActorsOrchestrator, ShutdownAnswersWhenEverythingHasEnded) {
  auto& worker = connect();
  auto& c = connect();
  ask(worker, 1, command("x"));
  ask(c, 1, ipc::shutdown_params{});
  EXPECT_TRUE(c.lines.empty());
  EXPECT_EQ(ends, 0);
  end(*brokers[0]);
  EXPECT_EQ(take(c)["id"], 1);
  EXPECT_EQ(take(worker)["result"]["cancelled"], true);
  EXPECT_EQ(ends, 1);
}

TEST_F(ActorsOrchestrator, LeavesWhenNobodyWasThereForAMinute) {
  advance(59s);
  auto& c = connect();
  advance(600s);
  EXPECT_EQ(ends, 0);
  tell(c.actor, client_gone{});
  run();
  advance(59s);
  EXPECT_EQ(ends, 0);
  advance(1s);
  EXPECT_EQ(ends, 1);
}

TEST_F(ActorsOrchestrator, APrivateInstanceEndsWithItsClient) {
  auto& other = connect();
  auto& c = connect(true);
  ask(other, 1, command("x"));
  tell(c.actor, client_gone{});
  run();
  EXPECT_EQ(ends, 0);
  end(*brokers[0]);
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(other.shut);
}

} // namespace
} // namespace piorch::actors
