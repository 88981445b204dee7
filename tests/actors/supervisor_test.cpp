// Starts, tasks, limits and ends of sessions.
#include "tests/actors/supervisor_fixture.hpp"

using namespace piorch;
using namespace piorch::actors;

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
