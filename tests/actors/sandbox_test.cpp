// The sandbox and the broker actor in fake time; their processes are a log.
#include "actors/broker.hpp"
#include "tests/support/actor_test.hpp"

#include <csignal>
#include <stdexcept>

namespace {

using namespace piorch;
using namespace piorch::actors;
using namespace std::chrono_literals;
using init_message = sandbox::init::message;

class ActorsSandbox : public test::actor_test {
protected:
  void start(std::chrono::milliseconds time_limit = 0ms, bool crash = false) {
    tree_control control;
    control.send = [this, crash](init_message what, std::uint32_t a) {
      if (crash)
        throw std::runtime_error("a bug");
      log.push_back(what == init_message::terminate ? "terminate" : "signal " + std::to_string(a));
    };
    control.kill = [this] { log.push_back("kill"); };
    broker_port port;
    port.started = [this](std::uint64_t) { log.push_back("started"); };
    port.listening = [](shared_fds) {};
    port.stopped = [this](int n) { log.push_back("stopped " + std::to_string(n)); };
    port.refused = [this](const path_refused& r) { log.push_back(r.path + " " + r.rule); };
    port.ended = [this](sandbox::outcome how) {
      log.push_back("ended " + std::to_string(how.exit_code));
      outcome = how;
    };
    broker = sys.spawn(broker_actor, port, control, time_limit,
                       [this](sandbox_handle s) { tree = std::move(s); });
    run();
  }
  ~ActorsSandbox() override {
    self->send_exit(broker, caf::exit_reason::kill);
    self->send_exit(tree, caf::exit_reason::kill);
    broker = nullptr;
    tree = nullptr;
    advance(3600s); // timers that are still set
  }

  void says(init_message what, std::uint32_t a = 0, const std::string& text = {}) {
    init_said said;
    said.what.what = what;
    said.what.a = a;
    said.text = text;
    tell(tree, said);
    run();
  }
  void up_and_running() {
    says(init_message::up);
    says(init_message::started);
    EXPECT_EQ(taken(), (lines{"started"}));
  }
  void gone() {
    tell(tree, tree_gone{});
    run();
  }
  std::vector<std::string> taken() { return std::exchange(log, {}); }
  using lines = std::vector<std::string>;

  std::vector<std::string> log;
  sandbox::outcome outcome;
  broker_handle broker;
  sandbox_handle tree;
};

TEST_F(ActorsSandbox, AnOrdinaryLife) {
  start();
  up_and_running();
  says(init_message::refused_path, 0, std::string(".env\0secret", 11));
  says(init_message::exited, 3 << 8);
  EXPECT_EQ(taken(), (lines{".env secret"})) << "not before everything is gone";
  gone();
  EXPECT_EQ(taken(), (lines{"ended 3"}));
}

TEST_F(ActorsSandbox, ATimeLimitCountsFromTheStartOfTheCommand) {
  start(10s);
  says(init_message::up);
  advance(60s); // a slow machine
  EXPECT_EQ(taken(), (lines{}));
  says(init_message::started);
  advance(9999ms);
  EXPECT_EQ(taken(), (lines{"started"}));
  advance(1ms);
  EXPECT_EQ(taken(), (lines{"terminate"}));
  advance(sandbox::run::grace);
  EXPECT_EQ(taken(), (lines{"kill"}));
  gone();
  EXPECT_EQ(taken(), (lines{"ended 124"}));
  EXPECT_TRUE(outcome.timed_out);
}

TEST_F(ActorsSandbox, AnEndBeforeTheGraceIsOverNeedsNoKill) {
  start();
  up_and_running();
  tell(broker, end_sandbox{sandbox::end_reason::hangup});
  run();
  EXPECT_EQ(taken(), (lines{"terminate"}));
  says(init_message::exited, 0);
  gone();
  EXPECT_EQ(taken(), (lines{"ended 0"}));
  advance(sandbox::run::grace);
  EXPECT_EQ(taken(), lines{});
}

// The command may run, and say so to the world, before its broker hears of it.
TEST_F(ActorsSandbox, AnEndThatOvertakesTheNewsOfTheStartIsTermToo) {
  start();
  tell(broker, end_sandbox{sandbox::end_reason::hangup});
  run();
  EXPECT_EQ(taken(), (lines{"terminate"}));
  says(init_message::started);
  EXPECT_EQ(taken(), (lines{"started"}));
  advance(sandbox::run::grace);
  EXPECT_EQ(taken(), (lines{"kill"}));
}

TEST_F(ActorsSandbox, SignalsAndStopsPassThrough) {
  start();
  up_and_running();
  tell(broker, deliver_signal{SIGINT});
  says(init_message::stopped, SIGTSTP);
  EXPECT_EQ(taken(),
            (lines{"signal " + std::to_string(SIGINT), "stopped " + std::to_string(SIGTSTP)}));
}

TEST_F(ActorsSandbox, ACrashOfTheSandboxActorEndsTheTreeAndCleansUp) {
  start(0ms, true);
  up_and_running();
  tell(broker, end_sandbox{sandbox::end_reason::hangup});
  run();
  EXPECT_EQ(taken(), (lines{"kill", "ended 125"}));
  EXPECT_NE(outcome.problem.find("internal error"), std::string::npos);
}

TEST_F(ActorsSandbox, AKilledSandboxActorCleansUpToo) {
  start();
  up_and_running();
  self->send_exit(tree, caf::exit_reason::kill);
  run();
  EXPECT_EQ(taken(), (lines{"kill", "ended 125"}));
}

} // namespace
