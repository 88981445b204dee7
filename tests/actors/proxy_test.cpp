#include "actors/proxy.hpp"
#include "config/network_limits.hpp"
#include "sandbox/network/decision.hpp"
#include "tests/support/actor_test.hpp"

namespace {

using namespace piorch;
using namespace piorch::actors;
using namespace std::chrono_literals;

class ActorsProxy : public test::actor_test {
protected:
  ActorsProxy() {
    proxy_port port;
    port.show = [this](const sandbox::network::ask_request& r) {
      log.push_back("show " + std::to_string(r.id));
    };
    port.hide = [this](std::uint64_t id) { log.push_back("hide " + std::to_string(id)); };
    port.answer = [this](std::uint64_t id, const sandbox::network::ask_answer& a) {
      log.push_back(std::to_string(id) + (a.allow ? " allowed by " : " denied by ") + a.source);
    };
    proxy = sys.spawn(proxy_actor, port, std::chrono::milliseconds(300s));
    run();
  }
  ~ActorsProxy() override {
    self->send_exit(proxy, caf::exit_reason::user_shutdown);
    proxy = nullptr;
    advance(301s); // approvals that are still open
  }
  void ask(std::uint64_t id, const char* host = "www.example.org") {
    tell(proxy, connect_asked{{id, {host, 443}, "CONNECT"}});
    run();
  }
  void answer(std::uint64_t id, bool allow, const char* source = "terminal") {
    tell(proxy, connect_answered{id, allow, source, ""});
    run();
  }
  std::vector<std::string> taken() { return std::exchange(log, {}); }
  using lines = std::vector<std::string>;

  std::vector<std::string> log;
  proxy_handle proxy;
};

TEST_F(ActorsProxy, AnAnswerSettlesOneQuestion) {
  ask(1);
  ask(2);
  EXPECT_EQ(taken(), (lines{"show 1", "show 2"}));
  answer(1, true);
  EXPECT_EQ(taken(), (lines{"hide 1", "1 allowed by terminal"}));
}

TEST_F(ActorsProxy, TheFirstAnswerWins) {
  ask(1);
  tell(proxy, connect_answered{1, false, "first", ""});
  tell(proxy, connect_answered{1, true, "second", ""});
  run();
  EXPECT_EQ(taken(), (lines{"show 1", "hide 1", "1 denied by first"}));
  answer(1, true, "late");
  EXPECT_EQ(taken(), lines{});
}

TEST_F(ActorsProxy, SilenceIsADenialOnTime) {
  ask(1);
  taken();
  advance(299s);
  EXPECT_EQ(taken(), lines{});
  advance(1s);
  EXPECT_EQ(taken(), (lines{"hide 1", "1 denied by approvalTimeout"}));
}

TEST_F(ActorsProxy, AConnectionThatIsGoneIsWithdrawnUnanswered) {
  ask(1);
  taken();
  tell(proxy, connect_gone{1});
  run();
  EXPECT_EQ(taken(), lines{"hide 1"});
  answer(1, true);
  advance(301s);
  EXPECT_EQ(taken(), lines{});
}

TEST_F(ActorsProxy, ANoCountsForAllQuestionsAboutThatPlaceAYesForOne) {
  ask(1);
  ask(2);
  ask(3, "other.example.org");
  taken();
  answer(1, true);
  EXPECT_EQ(taken().size(), 2u);
  ask(4);
  taken();
  answer(2, false);
  EXPECT_EQ(taken(), (lines{"hide 2", "2 denied by terminal", "hide 4", "4 denied by terminal"}));
}

TEST_F(ActorsProxy, OpenQuestionsAreBounded) {
  for (std::uint64_t id = 1; id <= limits::pending_approvals; ++id)
    ask(id, ("h" + std::to_string(id) + ".example.org").c_str());
  taken();
  ask(1000);
  EXPECT_EQ(taken(), lines{"1000 denied by tooManyRequests"});
}

} // namespace
