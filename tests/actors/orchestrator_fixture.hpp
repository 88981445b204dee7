// The client, command, remote_broker and keeper actors together, with a fake
// connection, a fake broker process and a fake clock.
#pragma once

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
  fake_client& connect(bool is_private = false, bool approves = false) {
    auto c = std::make_shared<fake_client>();
    client_port port;
    port.send = [c](std::string line) {
      json message;
      EXPECT_EQ(ipc::parse_json(line, message).fault, ipc::json_fault::none);
      c->unwritten += line.size() + 1;
      c->lines.push_back(std::move(message));
    };
    port.shut = [c] { c->shut = true; };
    c->actor = sys.spawn(
        client_actor, std::move(port),
        client_services{{starter(), desk, [this] { return settings; }}, {}, keeper, {}, {}, {}});
    tell(keeper, watch_client{caf::actor_cast<caf::actor>(c->actor), is_private});
    clients.push_back(c);
    ask(*c, 0, ipc::initialize_params{1, "test", "1", approves});
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

  // -- commands that may run on the host
  fake_client& connect_with_host_access() {
    settings.host_ipc.mode = piorch::config::host_ipc_mode::ask;
    settings.host_ipc.preflight_command_prefixes = {"docker"};
    settings.host_ipc.retry_on_unix_socket_error = true;
    return connect(false, true);
  }
  void answer(fake_client& c, const json& request, const json& decision) {
    ipc::rpc_message m;
    m.what = ipc::rpc_message::kind::response;
    m.id = ipc::rpc_id(request["id"].dump());
    m.result = decision;
    tell(c.actor, client_answered{m});
    run();
  }
  void fails_at_a_socket(fake_broker& b) {
    say(b, frame_type::error_output, "connect: Operation not permitted\n");
    say(b, frame_type::exit_report, report(1));
    end(b);
  }

  piorch::config::settings settings;
  keeper_handle keeper;
  approval_desk_handle desk;
  std::vector<std::shared_ptr<fake_broker>> brokers;
  std::vector<std::shared_ptr<fake_client>> clients;
  int ends = 0;
};

} // namespace piorch::actors
