// Those who follow sessions or watch their states.
#include "tests/actors/supervisor_fixture.hpp"

using namespace piorch;
using namespace piorch::actors;

namespace {
struct SessionWatchers : Supervisor {};
} // namespace

TEST_F(SessionWatchers, FollowersSeeEverythingLiveAndAfterwards) {
  const auto id = start_live("one");
  const auto log = follow(id, 0);
  follow_up(id, "two");
  stop(id);
  ASSERT_FALSE(log->events.empty());
  for (std::size_t i = 0; i < log->events.size(); ++i) {
    EXPECT_EQ(log->events[i]["seq"], i + 1);
    EXPECT_EQ(log->events[i]["sessionId"], id);
  }
  EXPECT_EQ(log->events.back()["event"]["state"], "stopped");
  const auto late = follow(id, 3);
  ASSERT_EQ(late->events.size(), log->events.size() - 2);
  EXPECT_EQ(late->events[0], log->events[2]);
}

TEST_F(SessionWatchers, AStartMayBeFollowedFromItsFirstEventOn) {
  // The client is the follower: it must get events before the answer.
  auto log = std::make_shared<follower_log>();
  std::size_t before = 0;
  followers.push_back(sys.spawn([&, log](caf::event_based_actor* a) -> caf::behavior {
    auto p = task("one");
    p.follow = true;
    a->request(boss, caf::infinite, p).then([&, log](const ipc::session_answer&) {
      before = log->events.size();
    });
    return follower(a, log, true);
  }));
  run();
  ASSERT_FALSE(log->events.empty());
  EXPECT_EQ(log->events[0]["seq"], 1);
  EXPECT_EQ(before, log->events.size());
  EXPECT_EQ(log->events.back()["event"]["state"], "stopped");
}

TEST_F(SessionWatchers, ManyFollowersAndOneThatIsSlow) {
  const auto id = start_live("wait");
  std::vector<std::shared_ptr<follower_log>> logs;
  for (int i = 0; i < 10; ++i)
    logs.push_back(follow(id, 1, i != 0));
  const std::string text(400, 't');
  for (int i = 0; i < 5000; ++i) {
    tool_call(*workers[0], text);
    if (i % 50 == 0)
      run();
  }
  run();
  auto& slow = *logs[0];
  EXPECT_LT(slow.untaken, 2 * limits::follower_window_bytes) << "bounded";
  EXPECT_LT(slow.events.size(), logs[1]->events.size());
  for (const auto& l : logs) {
    if (l != logs[0]) {
      EXPECT_EQ(l->events.size(), logs[1]->events.size());
    }
  }
  take_all(slow, followers[0]); // what memory has forgotten comes from disk
  EXPECT_EQ(slow.events, logs[1]->events) << "in order, nothing missing";
}

TEST_F(SessionWatchers, ASlowFollowerGetsTheRestOfAnEndedSession) {
  const auto id = start_live("wait");
  const auto log = follow(id, 1, false);
  for (int i = 0; i < 2000; ++i)
    tool_call(*workers[0], std::string(2000, 't'));
  run();
  stop(id);
  EXPECT_EQ(live(), 0u) << "a follower holds no slot";
  take_all(*log, followers[0]);
  for (std::size_t i = 0; i < log->events.size(); ++i)
    ASSERT_EQ(log->events[i]["seq"], i + 1);
  EXPECT_EQ(log->events.back()["event"]["state"], "stopped");
}

TEST_F(SessionWatchers, StatusListsLiveAndEndedOfAllInstances) {
  start_live("wait");
  const auto b = start_live();
  stop(b);
  const auto all = ask_later<ipc::session_status_result>(boss, ipc::session_status_params{});
  ASSERT_TRUE(all->value);
  EXPECT_EQ(all->value->sessions.size(), 2u);
  EXPECT_EQ(status("zz"), nullptr);
  auto second = make(); // beside the first one, with its live session
  const auto other = ask_later<ipc::session_status_result>(second, ipc::session_status_params{});
  ASSERT_EQ(other->value->sessions.size(), 1u);
  EXPECT_EQ(json::parse(other->value->sessions[0])["text"], "answer to hello");
  caf::anon_send_exit(second, caf::exit_reason::kill);
  second = nullptr;
  run();
  EXPECT_EQ(live(), 1u) << "it took nothing away from us";
}

TEST_F(SessionWatchers, WhoWatchesIsToldWhatHasChanged) {
  const auto ask = [&](std::optional<std::string> id, std::optional<std::uint64_t> after,
                       caf::actor* client = nullptr) {
    return ask_later<ipc::session_status_result>(boss, ipc::session_status_params{id, after},
                                                 client);
  };
  const auto id = start_live();
  const auto before = ask({}, {});
  EXPECT_TRUE(before->value->all);
  const auto news = ask({}, before->value->revision);
  const auto of_one = ask(id.substr(0, 12), before->value->revision);
  EXPECT_FALSE(news->come());
  const auto other = start_live();
  ASSERT_TRUE(news->value);
  EXPECT_FALSE(news->value->all);
  ASSERT_EQ(news->value->sessions.size(), 1u) << "only what has changed";
  EXPECT_EQ(json::parse(news->value->sessions[0])["id"], other);
  EXPECT_FALSE(of_one->come());

  // Whatever happened while nobody asked comes as it is now, once.
  const auto later = ask({}, news->value->revision);
  stop(other);
  ASSERT_TRUE(later->value);
  const auto last = ask({}, later->value->revision);
  ASSERT_TRUE(last->value) << "its end and the end of its tree are two changes";
  EXPECT_EQ(json::parse(last->value->sessions.at(0))["state"], "stopped");
  EXPECT_FALSE(ask({}, last->value->revision)->come());

  stop(id);
  ASSERT_TRUE(of_one->value);
  EXPECT_EQ(json::parse(of_one->value->sessions.at(0))["state"], "stopped");
}

TEST_F(SessionWatchers, AWatcherThatLeavesMakesRoomForAnother) {
  const auto now = ask_later<ipc::session_status_result>(boss, ipc::session_status_params{});
  const auto watch = [&](caf::actor* client = nullptr) {
    return ask_later<ipc::session_status_result>(
        boss, ipc::session_status_params{{}, now->value->revision}, client);
  };
  std::vector<caf::actor> clients(limits::list_watchers);
  for (auto& client : clients)
    EXPECT_FALSE(watch(&client)->come());
  const auto refused = watch();
  ASSERT_TRUE(refused->failed);
  EXPECT_EQ(refused->failed->code, failure::limit_reached);
  end_client(clients.front());
  const auto late = watch();
  EXPECT_FALSE(late->come());
  clients.clear();
  start_live();
  EXPECT_TRUE(late->value);
}
