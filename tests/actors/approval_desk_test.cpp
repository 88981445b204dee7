// Approvals through the orchestrator: clients, commands and the desk together, with
// fake broker processes and a fake clock.
#include "actors/approval_desk.hpp"
#include "actors/client.hpp"
#include "actors/keeper.hpp"
#include "ipc/json_text.hpp"
#include "sandbox/remote_question.hpp"
#include "tests/support/actor_test.hpp"

#include <nlohmann/json.hpp>

#include <deque>

namespace piorch::actors {
namespace {

using namespace std::chrono_literals;
using ipc::frame_type;
using nlohmann::json;

class ActorsApprovalDesk : public test::actor_test {
protected:
  struct fake_client {
    client_handle actor;
    std::deque<json> lines;
  };
  struct fake_broker {
    remote_broker_handle actor;
    std::vector<sandbox::remote_answer> answers;
  };

  ActorsApprovalDesk() {
    keeper = sys.spawn(keeper_actor, keeper_options{});
    desk = sys.spawn(approval_desk_actor,
                     approval_desk_options{[] { return orchestration::instant(); }, "t-"});
    run();
  }
  ~ActorsApprovalDesk() override {
    for (auto& c : clients)
      gone(*c);
    for (auto& b : brokers)
      if (b->actor)
        end(*b);
    clients.clear();
    caf::anon_send_exit(keeper, caf::exit_reason::kill);
    caf::anon_send_exit(desk, caf::exit_reason::kill); // its approvals go with it
    keeper = nullptr;
    desk = nullptr;
    run();
  }

  fake_client& connect(bool approves) {
    auto c = std::make_shared<fake_client>();
    client_port port;
    port.send = [c](std::string line) {
      json message;
      EXPECT_EQ(ipc::parse_json(line, message).fault, ipc::json_fault::none) << line;
      c->lines.push_back(std::move(message));
    };
    port.shut = [] {};
    c->actor = sys.spawn(client_actor, std::move(port),
                         client_services{{starter(), desk, {}}, {}, keeper, {}, {}, {}});
    clients.push_back(c);
    call(*c, 0, ipc::initialize_params{1, "test", "1", approves});
    EXPECT_TRUE(take(*c).contains("result"));
    return *c;
  }
  broker_starter starter() {
    return [this](remote_broker_handle actor, const std::string& /*job*/) {
      auto b = std::make_shared<fake_broker>();
      b->actor = std::move(actor);
      brokers.push_back(b);
      broker_line line;
      line.send = [b](frame_type what, const std::string& payload) {
        if (what == frame_type::approval_answer)
          b->answers.push_back(*sandbox::read_answer(payload));
      };
      line.kill = line.hang_up = line.close_input = [] {};
      return line;
    };
  }
  // A command of this client, with its broker.
  fake_broker& start(fake_client& c, const std::string& id = "c") {
    ipc::command_run_params p;
    p.id = id;
    p.command = "curl https://example.org";
    p.cwd = "/w";
    call(c, 1, p);
    return *brokers.back();
  }
  void call(fake_client& c, int id, ipc::rpc_call what) {
    tell(c.actor, client_asked{ipc::rpc_id::number(id), std::move(what)});
    run();
  }
  void wonder(fake_broker& b, const std::string& id, std::chrono::seconds limit = 300s) {
    say(b, frame_type::approval_ask, sandbox::question_text({id, "example.org:443", limit}));
  }
  void say(fake_broker& b, frame_type what, std::string payload) {
    tell(b.actor, broker_frame{what, std::move(payload)});
    run();
  }
  void end(fake_broker& b) {
    tell(b.actor, broker_gone{});
    b.actor = nullptr;
    run();
  }
  void gone(fake_client& c) {
    tell(c.actor, client_gone{});
    run();
  }
  json take(fake_client& c) {
    if (c.lines.empty())
      return {{"nothing", "was sent"}};
    json line = std::move(c.lines.front());
    c.lines.pop_front();
    return line;
  }
  // The response to an approval.request of ours.
  void respond(fake_client& c, const json& request, const json& result) {
    ipc::rpc_message m;
    m.what = ipc::rpc_message::kind::response;
    m.id = ipc::rpc_id(request["id"].dump());
    m.result = result;
    tell(c.actor, client_answered{m});
    run();
  }
  static std::string text(const std::vector<sandbox::remote_answer>& answers) {
    std::string out;
    for (const auto& a : answers)
      out += a.id + (a.allow ? " allowed by " : " denied by ") + a.source + ": " + a.reason + "; ";
    return out;
  }
  static std::string cancelled(const json& line) {
    return line.value("method", "") == "approval.cancelled"
               ? line["params"]["id"].get<std::string>()
               : line.dump();
  }

  keeper_handle keeper;
  approval_desk_handle desk;
  std::vector<std::shared_ptr<fake_client>> clients;
  std::vector<std::shared_ptr<fake_broker>> brokers;
};

TEST_F(ActorsApprovalDesk, TheOwnerIsAskedInTheShapeOfTheContract) {
  auto& owner = connect(true);
  auto& other = connect(true);
  auto& b = start(owner);
  wonder(b, "7");
  const auto request = take(owner);
  EXPECT_EQ(request["method"], "approval.request");
  EXPECT_EQ(request["params"], json({{"id", "t-1"},
                                     {"surface", "network"},
                                     {"operation", "connect"},
                                     {"destination", "example.org:443"},
                                     {"command", "curl https://example.org"},
                                     {"cwd", "/w"},
                                     {"expiresAt", "1970-01-01T00:05:00.000Z"}}));
  EXPECT_TRUE(other.lines.empty());
  respond(owner, request, {{"action", "allow"}, {"source", "user"}});
  EXPECT_EQ(text(b.answers), "7 allowed by user: ; ");
  EXPECT_TRUE(owner.lines.empty()); // it knows
}

TEST_F(ActorsApprovalDesk, NobodyThereIsADenialAtOnceWithTheReason) {
  auto& owner = connect(false);
  auto& b = start(owner);
  wonder(b, "7");
  EXPECT_EQ(text(b.answers), "7 denied by noApprover: no rule allows it and nobody can be asked; ");
}

TEST_F(ActorsApprovalDesk, WithoutAnApprovingOwnerTheFirstOfTheOthersWinsAndTheRestAreTold) {
  auto& owner = connect(false);
  auto& one = connect(true);
  auto& two = connect(true);
  auto& b = start(owner);
  wonder(b, "7");
  const auto first = take(one), second = take(two);
  EXPECT_EQ(first["params"]["id"], "t-1");
  respond(two, second, {{"action", "deny"}, {"reason", "not now"}});
  EXPECT_EQ(text(b.answers), "7 denied by approval: not now; ");
  EXPECT_EQ(cancelled(take(one)), "t-1");
  respond(one, first, {{"action", "allow"}}); // too late
  EXPECT_EQ(b.answers.size(), 1u);
}

TEST_F(ActorsApprovalDesk, TwoAnswersAtTheSameMoment) {
  auto& owner = connect(true);
  auto& other = connect(false);
  auto& b = start(owner);
  wonder(b, "7");
  take(owner);
  const ipc::rpc_call yes = ipc::approval_answer_params{"t-1", {true, {}, {}}};
  tell(other.actor, client_asked{ipc::rpc_id::number(5), yes});
  tell(owner.actor, client_asked{ipc::rpc_id::number(6), yes});
  run();
  EXPECT_EQ(b.answers.size(), 1u);
  const auto won = take(other);
  EXPECT_EQ(won["result"], json::object()) << won;
  EXPECT_EQ(cancelled(take(owner)), "t-1");
  const auto lost = take(owner);
  EXPECT_EQ(lost["error"]["data"]["kind"], "unknown_approval") << lost;
}

TEST_F(ActorsApprovalDesk, OnlyAllowAllows) {
  auto& owner = connect(true);
  auto& b = start(owner);
  for (const json& nonsense : {json(true), json("allow"), json::object(), json{{"action", "Allow"}},
                               json{{"action", "allow"}, {"forever", true}}, json(nullptr)}) {
    b.answers.clear();
    wonder(b, "7");
    respond(owner, take(owner), nonsense);
    ASSERT_EQ(b.answers.size(), 1u) << nonsense;
    EXPECT_FALSE(b.answers[0].allow) << nonsense;
    EXPECT_NE(b.answers[0].reason.find("not understood"), std::string::npos);
  }
  b.answers.clear();
  wonder(b, "7");
  ipc::rpc_message refused;
  refused.what = ipc::rpc_message::kind::error;
  refused.id = ipc::rpc_id(take(owner)["id"].dump());
  refused.failed.message = "no dialog here";
  tell(owner.actor, client_answered{refused});
  run();
  EXPECT_EQ(text(b.answers), "7 denied by approval: the client could not ask: no dialog here; ");
}

TEST_F(ActorsApprovalDesk, SilenceIsADenialWhenItsTimeIsOver) {
  auto& owner = connect(true);
  auto& b = start(owner);
  wonder(b, "7", 20s);
  take(owner);
  advance(19s);
  EXPECT_TRUE(b.answers.empty());
  advance(1s);
  EXPECT_EQ(
      text(b.answers),
      "7 denied by approvalTimeout: nobody answered the request for approval within 20 seconds; ");
  EXPECT_EQ(cancelled(take(owner)), "t-1");
}

TEST_F(ActorsApprovalDesk, AConnectionThatIsGoneWithdrawsItsQuestion) {
  auto& owner = connect(true);
  auto& b = start(owner);
  wonder(b, "7");
  const auto request = take(owner);
  say(b, frame_type::approval_cancel, sandbox::withdrawal_text("7"));
  EXPECT_EQ(cancelled(take(owner)), "t-1");
  respond(owner, request, {{"action", "allow"}});
  advance(301s);
  EXPECT_TRUE(b.answers.empty());
}

TEST_F(ActorsApprovalDesk, ACommandThatHasEndedWithdrawsAllItsQuestions) {
  auto& owner = connect(true);
  auto& b = start(owner, "a");
  auto& c = start(owner, "b");
  wonder(b, "1");
  wonder(b, "2");
  wonder(c, "1");
  owner.lines.clear();
  end(b);
  EXPECT_TRUE(take(owner).contains("error")); // the broker was lost
  EXPECT_EQ(cancelled(take(owner)), "t-1");
  EXPECT_EQ(cancelled(take(owner)), "t-2");
  EXPECT_TRUE(owner.lines.empty());
  call(owner, 9, ipc::approval_list_params{});
  const auto list = take(owner);
  ASSERT_EQ(list["result"]["approvals"].size(), 1u) << list;
  EXPECT_EQ(list["result"]["approvals"][0]["id"], "t-3");
}

TEST_F(ActorsApprovalDesk, AnApproverThatLeavesHandsOverToTheNextOrIsANo) {
  auto& owner = connect(false);
  auto& one = connect(true);
  auto& b = start(owner);
  wonder(b, "7");
  take(one);
  auto& two = connect(true);
  EXPECT_EQ(take(two)["params"]["id"], "t-1"); // nobody's own: shown to all
  gone(one);
  EXPECT_TRUE(b.answers.empty());
  gone(two);
  EXPECT_EQ(text(b.answers), "7 denied by approverLeft: the client that could answer has left; ");
}

TEST_F(ActorsApprovalDesk, TheListIsAnsweredAgainWhenItChanges) {
  auto& owner = connect(true);
  auto& watcher = connect(false);
  auto& b = start(owner);
  call(watcher, 1, ipc::approval_list_params{});
  const auto before = take(watcher)["result"];
  EXPECT_TRUE(before["approvals"].empty());
  call(watcher, 2, ipc::approval_list_params{before["revision"].get<std::uint64_t>()});
  EXPECT_TRUE(watcher.lines.empty());
  wonder(b, "7");
  const auto after = take(watcher);
  EXPECT_EQ(after["id"], 2);
  EXPECT_EQ(after["result"]["approvals"].size(), 1u);
  // It has changed meanwhile: no waiting.
  call(watcher, 3, ipc::approval_list_params{before["revision"].get<std::uint64_t>()});
  EXPECT_EQ(take(watcher)["id"], 3);
}

TEST_F(ActorsApprovalDesk, QuestionsThatAreNoneAreLeftToTheBrokersOwnClock) {
  auto& owner = connect(true);
  auto& b = start(owner);
  for (auto text : {"", "{}", "[]", R"({"id":"1","destination":7,"timeLimitMs":1000})",
                    R"({"id":"1","destination":"x:1","timeLimitMs":-1})",
                    R"({"id":"1","destination":"x:1","timeLimitMs":99999999})"})
    say(b, frame_type::approval_ask, text);
  say(b, frame_type::approval_cancel, "nonsense");
  EXPECT_TRUE(owner.lines.empty());
  wonder(b, "1");
  EXPECT_EQ(take(owner)["method"], "approval.request");
}

} // namespace
} // namespace piorch::actors
