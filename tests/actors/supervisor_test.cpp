// The supervisor with its sessions, on a fake clock and with brokers that play a
// worker. Everything but processes is real, the journal too.
#include "actors/supervisor.hpp"

#include "tests/support/actor_test.hpp"
#include "tests/support/temp_dir.hpp"

#include <nlohmann/json.hpp>

#include <deque>

using namespace piorch;
using namespace piorch::actors;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// What one dummy broker was told.
struct worker {
  remote_broker_handle actor;
  broker_owner_handle owner;
  std::vector<json> lines;
  std::size_t granted = 0;
  bool asked_to_stop = false;
  bool stubborn = false; // does not end when asked to
  bool plays_pi = true;

  std::string id_of(const char* type) const {
    for (auto i = lines.rbegin(); i != lines.rend(); ++i)
      if ((*i)["type"] == type)
        return (*i)["id"];
    return {};
  }
};

void say(const worker& w, const json& j) { tell(w.owner, broker_output{false, j.dump() + "\n"}); }

void says(const worker& w, const std::string& text, const char* reason,
          const char* failed = nullptr) {
  json m{{"role", "assistant"}, {"content", text}, {"stopReason", reason}};
  if (failed)
    m["errorMessage"] = failed;
  say(w, {{"type", "message_end"}, {"message", m}});
}

// Answers like Pi; tasks that begin with "wait" run until they are aborted.
void play(const worker& w, const json& j) {
  const auto type = j["type"].get<std::string>();
  const auto reply = [&](json result) {
    say(w, {{"id", j["id"]},
            {"type", "response"},
            {"command", type},
            {"success", true},
            {"data", std::move(result)}});
  };
  if (type == "get_state")
    reply({{"model", {{"id", "m"}, {"provider", "fake"}}}});
  if (type == "clear_queue")
    reply({{"followUp", json::array()}});
  if (type == "prompt") {
    const auto text = j["message"].get<std::string>();
    reply({{"disposition", "started"}});
    say(w, {{"type", "message_end"}, {"message", {{"role", "user"}, {"content", text}}}});
    if (text.compare(0, 4, "wait") == 0)
      return;
    if (text == "fail")
      says(w, "", "error", "401: bad key");
    else
      says(w, "answer to " + text, "stop");
    say(w, {{"type", "agent_settled"}, {"aborted", false}});
  }
  if (type == "abort") {
    says(w, "", "aborted");
    say(w, {{"type", "agent_settled"}, {"aborted", true}});
    reply(json::object());
  }
}

remote_broker_handle::behavior_type dummy_broker(remote_broker_handle::pointer self,
                                                 const std::shared_ptr<worker>& w) {
  tell(w->owner, broker_started{});
  return {
      [=](const send_input& m) {
        w->lines.push_back(json::parse(m.bytes));
        if (w->plays_pi)
          play(*w, w->lines.back());
      },
      [](const close_input&) {},
      [=](const grant_output& m) { w->granted += m.bytes; },
      [](const deliver_signal&) {},
      [](const answer_approval&) {},
      [=](const stop_broker&) {
        w->asked_to_stop = true;
        if (w->stubborn)
          return;
        broker_ended e;
        e.how.signal = 9;
        e.how.started = true;
        e.how.cpu_seconds = 0.5;
        tell(w->owner, e);
        w->owner = nullptr;
        self->quit();
      },
      [](const broker_frame&) {},
      [](const broker_gone&) {},
      [](const broker_overdue&) {},
  };
}

// A follower that takes what it got at once, or when told to.
struct follower_log {
  std::vector<json> events;
  std::size_t untaken = 0;
  caf::actor source;
};

caf::behavior follower(caf::event_based_actor* self, const std::shared_ptr<follower_log>& log,
                       bool takes) {
  return {[=](const session_events& m) {
    for (const auto& line : *m.lines) {
      log->events.push_back(json::parse(line)["params"]);
      log->untaken += line.size();
    }
    log->source = caf::actor_cast<caf::actor>(self->current_sender());
    if (takes)
      self->send(std::exchange(log->source, nullptr), events_taken{std::exchange(log->untaken, 0)});
  }};
}

struct Supervisor : test::actor_test {
  using answer = std::shared_ptr<pending<ipc::session_answer>>;

  test::temp_dir tmp;
  std::deque<std::shared_ptr<worker>> workers;
  std::optional<error> cannot_prepare, cannot_start;
  bool play_pi = true;
  std::uint8_t counter = 0;
  std::vector<caf::actor> followers;
  supervisor_type boss = make();

  ~Supervisor() override {
    for (auto& f : followers)
      caf::anon_send_exit(f, caf::exit_reason::kill);
    followers.clear();
    for (auto& w : workers)
      end_worker(*w);
    caf::anon_send_exit(boss, caf::exit_reason::kill);
    end_clients();
    boss = nullptr;
    for (auto& w : workers)
      *w = worker();
    run();
  }

  supervisor_type make() {
    supervisor_services s;
    s.now = [this] {
      return orchestration::instant{milliseconds{1'795'984'418'711}} +
             std::chrono::duration_cast<milliseconds>(sys.clock().now().time_since_epoch());
    };
    s.random = [this] {
      std::array<std::uint8_t, 10> r{};
      r[9] = ++counter;
      return r;
    };
    s.prepare_worker = [this](const worker_request&) -> result<prepared_worker> {
      if (cannot_prepare)
        return *cannot_prepare;
      prepared_worker p;
      p.start = [this](const broker_owner_handle& owner) -> result<remote_broker_handle> {
        if (cannot_start)
          return *cannot_start;
        auto w = std::make_shared<worker>();
        w->owner = owner;
        w->plays_pi = play_pi;
        w->actor = sys.spawn(dummy_broker, w);
        workers.push_back(w);
        return w->actor;
      };
      return p;
    };
    auto j = orchestration::journal::open(tmp / "sessions");
    s.journal = std::make_shared<orchestration::journal>(std::move(*j));
    auto b = sys.spawn(supervisor_actor, std::move(s));
    run();
    return b;
  }

  void end_worker(worker& w) {
    if (!w.owner || !w.actor)
      return;
    broker_ended e;
    e.how.started = true;
    e.how.exit_code = 3;
    tell(w.owner, e);
    caf::anon_send_exit(w.actor, caf::exit_reason::user_shutdown);
    w.owner = nullptr;
    run();
  }

  static ipc::session_start_params task(const std::string& text, bool background = false) {
    ipc::session_start_params p;
    p.task = text;
    p.cwd = "/w";
    p.background = background;
    return p;
  }
  answer start(const ipc::session_start_params& p, caf::actor* client = nullptr) {
    return ask_later<ipc::session_answer>(boss, p, client);
  }
  std::string start_live(const std::string& text = "hello") {
    const auto a = start(task(text, true));
    EXPECT_TRUE(a->value) << (a->failed ? a->failed->text : "no answer");
    return a->value ? id_in(a) : "";
  }
  static std::string id_in(const answer& a) { return json::parse(a->value->session)["id"]; }
  answer follow_up(const std::string& id, const std::string& text, caf::actor* client = nullptr) {
    return ask_later<ipc::session_answer>(
        boss, ipc::session_follow_up_params{id, text, false, false, {}}, client);
  }
  answer wait(const std::string& id, std::optional<milliseconds> limit = {}) {
    return ask_later<ipc::session_answer>(boss, ipc::session_wait_params{id, limit});
  }
  answer handoff(const std::string& id, const std::string& text) {
    ipc::session_handoff_params p;
    p.session_id = id;
    p.task = text;
    p.background = true;
    return ask_later<ipc::session_answer>(boss, p);
  }
  auto stop(const std::string& id) {
    return ask_later<done>(boss, ipc::session_stop_params{id, false});
  }
  auto abort(const std::string& id) { return ask_later<done>(boss, ipc::session_abort_params{id}); }
  json status(const std::string& id) {
    const auto a = ask_later<ipc::session_status_result>(boss, ipc::session_status_params{id});
    return a->value ? json::parse(a->value->sessions.at(0)) : json(nullptr);
  }
  std::size_t live() { return ask_later<live_count>(boss, count_live{})->value->sessions; }

  std::shared_ptr<follower_log> follow(const std::string& id, std::uint64_t from,
                                       bool takes = true) {
    auto log = std::make_shared<follower_log>();
    followers.push_back(sys.spawn(follower, log, takes));
    const auto r =
        ask_later<ipc::session_follow_result>(boss, follow_session{{id, from}, followers.back()});
    EXPECT_TRUE(r->value);
    return log;
  }
  void take_all(follower_log& log, const caf::actor& who) {
    while (log.untaken > 0) {
      auto source = std::exchange(log.source, nullptr);
      caf::send_as(who, source, events_taken{std::exchange(log.untaken, 0)});
      run();
    }
    log.source = nullptr;
  }
  void tool_call(const worker& w, const std::string& text) {
    say(w, {{"type", "tool_execution_start"}, {"toolName", "t"}, {"args", {{"x", text}}}});
  }
};

} // namespace

TEST_F(Supervisor, AForegroundStartAnswersAndEnds) {
  const auto a = start(task("hello"));
  ASSERT_TRUE(a->value) << a->failed->text;
  EXPECT_EQ(*a->value->text, "answer to hello");
  const auto d = json::parse(a->value->session);
  EXPECT_EQ(d["state"], "stopped");
  EXPECT_EQ(d["usage"]["cpuSeconds"], 0.5);
  EXPECT_EQ(d["depth"], 1);
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(status(d["id"])["text"], "answer to hello") << "ended sessions stay readable";
}

TEST_F(Supervisor, ABackgroundStartAnswersWhenTheWorkerHasTheTask) {
  const auto id = start_live("wait");
  EXPECT_EQ(status(id)["state"], "running");
  play_pi = false;
  EXPECT_FALSE(start(task("x", true))->come()) << "not before the worker has accepted it";
  EXPECT_EQ(live(), 2u);
}

TEST_F(Supervisor, ModelErrors) {
  const auto a = start(task("fail"));
  ASSERT_TRUE(a->failed);
  EXPECT_EQ(a->failed->code, failure::session_failed);
  EXPECT_EQ(a->failed->text, "401: bad key");
  EXPECT_EQ(live(), 0u);
  const auto id = start_live("fail");
  EXPECT_EQ(status(id)["state"], "idle") << "in the background the session stays";
  EXPECT_EQ(status(id)["error"], "401: bad key");
  EXPECT_EQ(wait(id)->failed->text, "401: bad key");
  EXPECT_EQ(*follow_up(id, "again")->value->text, "answer to again");
}

TEST_F(Supervisor, HundredFollowUpsGetTheirOwnAnswers) {
  const auto id = start_live("wait");
  std::vector<answer> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(follow_up(id, std::to_string(i)));
  for (const auto& a : all)
    EXPECT_FALSE(a->come());
  says(*workers[0], "first", "stop");
  say(*workers[0], {{"type", "agent_settled"}});
  run();
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(all[i]->value) << i;
    EXPECT_EQ(*all[i]->value->text, "answer to " + std::to_string(i));
  }
  EXPECT_GT(workers[0]->granted, 0u);
}

TEST_F(Supervisor, TheFifthIsRefusedAndASlotFreesOnlyWithTheTree) {
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(start_live());
  const auto fifth = start(task("x"));
  ASSERT_TRUE(fifth->failed);
  EXPECT_EQ(fifth->failed->code, failure::limit_reached);
  EXPECT_EQ(fifth->failed->text, "subagent concurrency limit reached (4)");
  workers[0]->stubborn = true;
  const auto s = stop(ids[0]);
  EXPECT_TRUE(workers[0]->asked_to_stop);
  EXPECT_FALSE(s->come());
  EXPECT_TRUE(start(task("x"))->failed) << "its tree is alive";
  end_worker(*workers[0]);
  EXPECT_TRUE(s->value);
  EXPECT_EQ(status(ids[0])["state"], "stopped");
  EXPECT_TRUE(start(task("x", true))->value);
}

TEST_F(Supervisor, RacingStartsNeverExceedFour) {
  play_pi = false;
  std::size_t refused = 0;
  for (int i = 0; i < 200; ++i)
    refused += start(task("x"))->failed ? 1 : 0;
  EXPECT_EQ(refused, 196u);
  EXPECT_EQ(workers.size(), 4u);
}

TEST_F(Supervisor, HandoffsNestThreeDeep) {
  const auto one = start_live("one");
  const auto two = handoff(one, "two");
  ASSERT_TRUE(two->value);
  const auto d2 = json::parse(two->value->session);
  EXPECT_EQ(d2["parentId"], one);
  EXPECT_EQ(d2["depth"], 2);
  EXPECT_NE(d2["task"].get<std::string>().find("answer to one"), std::string::npos);
  const auto three = handoff(d2["id"], "three");
  ASSERT_TRUE(three->value);
  EXPECT_EQ(handoff(id_in(three), "four")->failed->text,
            "subagent nesting depth limit reached (3)");
  stop(one);
  const auto after = handoff(one, "of an ended one");
  ASSERT_TRUE(after->value);
  EXPECT_NE(json::parse(after->value->session)["task"].get<std::string>().find("answer to one"),
            std::string::npos);
}

TEST_F(Supervisor, NamesAndPrefixes) {
  auto p = task("x", true);
  p.name = "review";
  ASSERT_TRUE(start(p)->value);
  EXPECT_EQ(start(p)->failed->code, failure::usage) << "one live session of a name";
  p.name = "../x";
  EXPECT_EQ(start(p)->failed->code, failure::usage);
  EXPECT_EQ(live(), 1u);
  const auto id = status("review")["id"].get<std::string>();
  EXPECT_EQ(*follow_up("review", "y")->value->text, "answer to y");
  EXPECT_EQ(*follow_up(id.substr(0, 31), "z")->value->text, "answer to z");
  EXPECT_EQ(follow_up("nobody", "y")->failed->code, failure::unknown_session);
}

TEST_F(Supervisor, TasksTimeOutAndTheSessionStays) {
  auto p = task("wait", true);
  p.timeout = seconds(5);
  const auto id = id_in(start(p));
  const auto queued = follow_up(id, "next");
  advance(milliseconds(4999));
  EXPECT_FALSE(queued->come());
  advance(milliseconds(2));
  ASSERT_TRUE(queued->value);
  EXPECT_EQ(*queued->value->text, "answer to next");
  EXPECT_EQ(status(id)["state"], "idle");
  auto q = task("wait");
  q.timeout = seconds(1);
  const auto a = start(q);
  advance(seconds(1));
  ASSERT_TRUE(a->failed);
  EXPECT_EQ(a->failed->code, failure::timed_out);
}

TEST_F(Supervisor, WaitsAndAborts) {
  const auto id = start_live("wait");
  const auto limited = wait(id, seconds(3));
  const auto patient = wait(id);
  advance(seconds(3));
  ASSERT_TRUE(limited->failed);
  EXPECT_EQ(limited->failed->code, failure::timed_out);
  EXPECT_EQ(status(id)["state"], "running");
  EXPECT_TRUE(abort(id)->value);
  ASSERT_TRUE(patient->failed);
  EXPECT_EQ(status(id)["state"], "idle");
  EXPECT_TRUE(abort(id)->value) << "nothing to abort";
}

TEST_F(Supervisor, AWorkerThatIgnoresAnAbortIsEnded) {
  play_pi = false;
  const auto a = start(task("x", true));
  auto& w = *workers[0];
  say(w, {{"id", "ready"}, {"type", "response"}, {"success", true}});
  run();
  say(w, {{"id", w.id_of("prompt")},
          {"type", "response"},
          {"success", true},
          {"data", {{"disposition", "started"}}}});
  run();
  ASSERT_TRUE(a->value);
  const auto aborted = abort(id_in(a));
  EXPECT_FALSE(aborted->come());
  advance(limits::abort_grace);
  EXPECT_TRUE(w.asked_to_stop);
  EXPECT_TRUE(aborted->value);
  EXPECT_EQ(status(id_in(a))["state"], "failed");
  EXPECT_EQ(live(), 0u);
}

TEST_F(Supervisor, AWorkerThatIsNeverReadyIsEnded) {
  play_pi = false;
  const auto a = start(task("x"));
  advance(limits::worker_start_timeout);
  ASSERT_TRUE(a->failed);
  EXPECT_NE(a->failed->text.find("not ready"), std::string::npos);
  EXPECT_EQ(live(), 0u);
}

TEST_F(Supervisor, WhatCannotBeStartedIsAnError) {
  cannot_prepare = error{failure::sandbox_unavailable, "no Pi"};
  EXPECT_EQ(start(task("x"))->failed->text, "no Pi");
  cannot_prepare.reset();
  cannot_start = error{failure::sandbox_unavailable, "no broker"};
  const auto a = start(task("x"));
  ASSERT_TRUE(a->failed);
  EXPECT_NE(a->failed->text.find("no broker"), std::string::npos);
  EXPECT_EQ(live(), 0u);
}

TEST_F(Supervisor, ALostBrokerIsAFailedSession) {
  const auto id = start_live("wait");
  const auto waiting = follow_up(id, "x");
  tell(workers[0]->owner, broker_output{true, "Error: out of memory\n"});
  caf::anon_send_exit(workers[0]->actor, caf::exit_reason::kill);
  workers[0]->owner = nullptr;
  run();
  ASSERT_TRUE(waiting->failed);
  EXPECT_EQ(waiting->failed->code, failure::session_failed);
  EXPECT_NE(waiting->failed->text.find("broker was lost"), std::string::npos);
  EXPECT_NE(waiting->failed->text.find("out of memory"), std::string::npos);
  EXPECT_EQ(status(id)["state"], "failed");
  EXPECT_EQ(live(), 0u);
}

TEST_F(Supervisor, AClientThatLeavesTakesItsForegroundWorkWithIt) {
  caf::actor client, other;
  start(task("wait"), &client);
  const auto stays = start_live("wait");
  follow_up(stays, "wait too", &other);
  EXPECT_EQ(live(), 2u);
  end_client(client);
  EXPECT_TRUE(workers[0]->asked_to_stop);
  EXPECT_EQ(live(), 1u);
  end_client(other);
  EXPECT_EQ(status(stays)["state"], "running") << "the first task is in the background";
  EXPECT_TRUE(abort(stays)->value);
  EXPECT_EQ(status(stays)["task"], "wait") << "the other one never ran";
}

TEST_F(Supervisor, StopAllAndThenNothingStarts) {
  start_live("wait");
  start_live();
  EXPECT_TRUE(ask_later<done>(boss, stop_all{})->value);
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(start(task("x"))->failed->code, failure::cancelled);
  EXPECT_TRUE(ask_later<done>(boss, stop_all{})->value);
}

TEST_F(Supervisor, EndedSessionsRefuseAndStopIsIdempotent) {
  const auto id = start_live();
  EXPECT_TRUE(stop(id)->value);
  EXPECT_TRUE(stop(id)->value);
  EXPECT_EQ(follow_up(id, "x")->failed->code, failure::session_stopped);
  EXPECT_EQ(abort(id)->failed->code, failure::session_stopped);
  EXPECT_EQ(*wait(id)->value->text, "answer to hello");
}

TEST_F(Supervisor, FollowersSeeEverythingLiveAndAfterwards) {
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

TEST_F(Supervisor, AStartMayBeFollowedFromItsFirstEventOn) {
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

TEST_F(Supervisor, ManyFollowersAndOneThatIsSlow) {
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

TEST_F(Supervisor, ASlowFollowerGetsTheRestOfAnEndedSession) {
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

TEST_F(Supervisor, StatusListsLiveAndEndedOfAllInstances) {
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
