#include "orchestration/turns.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace piorch;
using namespace piorch::orchestration;
namespace pw = piorch::orchestration::pi_worker;

namespace {

// Plays Pi: answers commands and tells what turns did.
struct conversation {
  turns t;
  std::vector<nlohmann::json> sent;
  std::vector<answer> answers;
  std::vector<task_id> accepted;

  void take(turn_effects e) {
    for (auto& line : e.to_worker) {
      ASSERT_EQ(line.back(), '\n');
      sent.push_back(*parse(std::string_view(line).substr(0, line.size() - 1), 10, 100));
    }
    for (auto& a : e.answers)
      answers.push_back(std::move(a));
    accepted.insert(accepted.end(), e.accepted.begin(), e.accepted.end());
  }
  void submit(task_id id, const std::string& text) {
    auto e = t.submit(id, text);
    ASSERT_TRUE(e);
    take(std::move(*e));
  }
  std::string last_id(const char* type) {
    for (auto i = sent.rbegin(); i != sent.rend(); ++i)
      if (string_at(*i, "type") == type)
        return string_at(*i, "id");
    return {};
  }
  pw::response answer_to(const char* type, const char* disposition = "") {
    pw::response r;
    r.id = last_id(type);
    r.command = type;
    r.success = true;
    r.disposition = disposition;
    return r;
  }
  void respond(const char* type, const char* disposition = "") {
    take(t.on(answer_to(type, disposition)));
  }
  void says(const std::string& text, const std::string& reason = "stop",
            const std::string& error = "") {
    take(t.on(pw::assistant_message{text, reason, error, {}}));
  }
  void whole_run(const std::string& text) {
    respond("prompt", "started");
    take(t.on(pw::run_started{}));
    take(t.on(pw::user_message{}));
    says(text);
    take(t.on(pw::run_settled{}));
  }
  std::size_t prompts() const {
    std::size_t n = 0;
    for (const auto& j : sent)
      n += string_at(j, "type") == "prompt";
    return n;
  }
};

conversation ready() {
  conversation c;
  c.take(c.t.worker_ready());
  return c;
}

const error cancelled{failure::cancelled, "the run was aborted"};

} // namespace

TEST(Turns, WaitForTheWorkerToBeReady) {
  conversation c;
  c.submit(1, "one");
  EXPECT_TRUE(c.sent.empty());
  EXPECT_TRUE(c.t.busy());
  c.take(c.t.worker_ready());
  ASSERT_EQ(c.sent.size(), 1u);
  EXPECT_EQ(c.sent[0]["message"], "one");
  EXPECT_EQ(c.sent[0]["streamingBehavior"], "followUp");
}

TEST(Turns, HundredTasksAtOnceGetTheirOwnAnswers) {
  auto c = ready();
  for (task_id i = 1; i <= 100; ++i)
    c.submit(i, "task " + std::to_string(i));
  EXPECT_EQ(c.prompts(), 1u) << "one prompt in flight";
  for (task_id i = 1; i <= 100; ++i) {
    ASSERT_EQ(c.prompts(), i);
    const auto text = "answer to " + string_at(c.sent.back(), "message");
    c.whole_run(text);
  }
  ASSERT_EQ(c.answers.size(), 100u);
  for (task_id i = 1; i <= 100; ++i) {
    EXPECT_EQ(c.answers[i - 1].task, i);
    EXPECT_EQ(*c.answers[i - 1].outcome, "answer to task " + std::to_string(i));
  }
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, AQueuedPromptIsAnsweredByWhatFollowsItsUserMessage) {
  // The worker was busy with something of its own.
  auto c = ready();
  c.submit(1, "mine");
  c.respond("prompt", "queued");
  c.says("not for you");
  c.take(c.t.on(pw::user_message{"mine"}));
  c.says("for you");
  c.take(c.t.on(pw::run_settled{}));
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(*c.answers[0].outcome, "for you");
}

TEST(Turns, APromptLeftInTheWorkersQueueIsTakenBackAndSentAgain) {
  auto c = ready();
  c.submit(1, "mine");
  c.respond("prompt", "queued");
  c.take(c.t.on(pw::run_settled{}));
  EXPECT_TRUE(c.answers.empty());
  ASSERT_EQ(string_at(c.sent.back(), "type"), "clear_queue");
  c.respond("clear_queue");
  EXPECT_EQ(c.prompts(), 2u);
  EXPECT_EQ(c.sent.back()["message"], "mine");
  c.whole_run("done");
  EXPECT_EQ(*c.answers.at(0).outcome, "done");
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, TheUserMessageMayComeBeforeTheResponse) {
  auto c = ready();
  c.submit(1, "x");
  c.take(c.t.on(pw::user_message{}));
  c.says("early");
  c.respond("prompt", "queued");
  c.take(c.t.on(pw::run_settled{}));
  EXPECT_EQ(*c.answers.at(0).outcome, "early");
}

TEST(Turns, ToolCallsDoNotEndATask) {
  auto c = ready();
  c.submit(1, "x");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.says("looking", "toolUse");
  EXPECT_TRUE(c.answers.empty());
  c.says("found");
  c.take(c.t.on(pw::run_settled{}));
  EXPECT_EQ(*c.answers.at(0).outcome, "found");
}

TEST(Turns, ErrorsAreErrorsAndNeverOlderText) {
  struct {
    std::string text, reason, message, expected;
  } cases[] = {
      {"", "error", "401: bad key", "401: bad key"},
      {"half an ans", "error", "terminated", "terminated"},
      {"", "error", "", "the model reported an error without a message"},
      {"", "stop", "", "the model ended its run without any text"},
      {" \n", "stop", "", "the model ended its run without any text"},
      {"cut", "length", "", "the answer was cut at the model's output limit"},
  };
  for (const auto& k : cases) {
    auto c = ready();
    c.submit(1, "first");
    c.whole_run("older text");
    c.submit(2, "second");
    c.respond("prompt", "started");
    c.take(c.t.on(pw::user_message{}));
    c.says(k.text, k.reason, k.message);
    c.take(c.t.on(pw::run_settled{}));
    ASSERT_EQ(c.answers.size(), 2u);
    ASSERT_FALSE(c.answers[1].outcome) << k.expected;
    EXPECT_EQ(c.answers[1].outcome.failed().text, k.expected);
    EXPECT_EQ(c.answers[1].outcome.failed().code, failure::session_failed);
    EXPECT_EQ(c.answers[1].partial, k.text);
  }
}

TEST(Turns, ARunWithoutAnyMessageIsAnError) {
  auto c = ready();
  c.submit(1, "x");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::run_settled{}));
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(c.answers[0].outcome.failed().text, "the worker ended the run without an answer");
}

TEST(Turns, ARefusedPromptIsAnErrorAndTheNextGoesOn) {
  auto c = ready();
  c.submit(1, "x");
  c.submit(2, "y");
  auto r = c.answer_to("prompt");
  r.success = false;
  r.error = "No API key found";
  c.take(c.t.on(r));
  EXPECT_EQ(c.answers.at(0).outcome.failed().text, "No API key found");
  EXPECT_EQ(c.answers[0].task_text, "x");
  c.whole_run("fine");
  EXPECT_EQ(*c.answers.at(1).outcome, "fine");
}

TEST(Turns, ACommandIsNotWaitedForForEver) {
  auto c = ready();
  c.submit(1, "/x");
  c.respond("prompt", "handled");
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_FALSE(c.answers[0].outcome);
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, AnErrorThatWasRetriedIsForgotten) {
  auto c = ready();
  c.submit(1, "x");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.says("", "error", "500");
  c.says("at last");
  c.take(c.t.on(pw::run_settled{}));
  EXPECT_EQ(*c.answers.at(0).outcome, "at last");
}

TEST(Turns, AbortClearsTheQueueFirstAndEndsEverything) {
  auto c = ready();
  c.submit(1, "one");
  c.submit(2, "two");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.says("half", "aborted");
  c.take(c.t.abort(cancelled));
  ASSERT_EQ(c.sent.size(), 3u);
  EXPECT_EQ(c.sent[1]["type"], "clear_queue");
  EXPECT_EQ(c.sent[2]["type"], "abort");
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(c.answers[0].task, 2u);
  EXPECT_FALSE(c.answers[0].sent);
  c.submit(3, "three");
  c.take(c.t.on(pw::run_settled{true}));
  ASSERT_EQ(c.answers.size(), 2u);
  EXPECT_EQ(c.answers[1].outcome.failed().code, failure::cancelled);
  EXPECT_EQ(c.answers[1].partial, "half");
  EXPECT_EQ(c.prompts(), 1u) << "not before the abort was answered: it would hit the new run";
  c.respond("clear_queue");
  c.respond("abort");
  EXPECT_EQ(c.prompts(), 2u);
  c.whole_run("new");
  EXPECT_EQ(*c.answers.at(2).outcome, "new");
  EXPECT_FALSE(c.t.aborting());
}

TEST(Turns, AbortWaitsForThePromptInFlight) {
  auto c = ready();
  c.submit(1, "one");
  c.take(c.t.abort(cancelled));
  EXPECT_EQ(c.sent.size(), 1u);
  c.respond("prompt", "started");
  EXPECT_EQ(c.sent.size(), 3u);
  // Nothing had begun: Pi answers at once and nothing settles.
  c.respond("abort");
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(c.answers[0].outcome.failed().code, failure::cancelled);
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, ARunThatWasThroughKeepsItsAnswer) {
  auto c = ready();
  c.submit(1, "one");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.says("all of it");
  c.take(c.t.abort(cancelled));
  c.take(c.t.on(pw::run_settled{}));
  EXPECT_EQ(*c.answers.at(0).outcome, "all of it");
  EXPECT_TRUE(c.t.busy()) << "the abort is still on its way";
  c.respond("abort");
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, AbortOfARefusedPromptEnds) {
  auto c = ready();
  c.submit(1, "one");
  c.take(c.t.abort(cancelled));
  auto r = c.answer_to("prompt");
  r.success = false;
  r.error = "no";
  c.take(c.t.on(r));
  EXPECT_EQ(c.answers.at(0).outcome.failed().code, failure::cancelled);
  EXPECT_FALSE(c.t.busy());
  EXPECT_EQ(c.sent.size(), 1u);
}

TEST(Turns, AbortOfOneTaskLeavesTheOthers) {
  auto c = ready();
  c.submit(1, "one");
  c.submit(2, "two");
  c.submit(3, "three");
  const error late{failure::timed_out, "timed out after 1 s"};
  c.take(c.t.abort_task(2, late));
  EXPECT_EQ(c.answers.at(0).task, 2u);
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.take(c.t.abort_task(1, late));
  c.take(c.t.abort_task(1, cancelled));
  c.take(c.t.abort_task(99, late));
  c.take(c.t.on(pw::run_settled{true}));
  c.respond("abort");
  EXPECT_EQ(c.answers.at(1).outcome.failed().code, failure::timed_out) << "the first reason stands";
  c.whole_run("third");
  EXPECT_EQ(*c.answers.at(2).outcome, "third");
}

TEST(Turns, ALostWorkerEndsEveryTask) {
  auto c = ready();
  c.submit(1, "one");
  c.submit(2, "two");
  c.respond("prompt", "started");
  c.take(c.t.on(pw::user_message{}));
  c.says("so far", "toolUse");
  c.take(c.t.worker_gone({failure::session_failed, "gone"}));
  ASSERT_EQ(c.answers.size(), 2u);
  EXPECT_EQ(c.answers[0].partial, "so far");
  EXPECT_TRUE(c.answers[0].sent);
  EXPECT_FALSE(c.answers[1].sent);
  EXPECT_FALSE(c.t.busy());
}

TEST(Turns, StrayEventsDoNothing) {
  auto c = ready();
  c.take(c.t.on(pw::run_settled{}));
  c.take(c.t.on(pw::user_message{"x"}));
  c.says("to nobody");
  pw::response r;
  r.id = "zzz";
  c.take(c.t.on(r));
  c.submit(1, "x");
  c.take(c.t.on(r));
  c.take(c.t.on(pw::run_settled{})); // of an earlier run, before our prompt was answered
  EXPECT_TRUE(c.answers.empty());
  c.whole_run("y");
  c.take(c.t.on(c.answer_to("prompt", "started"))); // twice
  EXPECT_EQ(c.answers.size(), 1u);
}

TEST(Turns, TheQueueIsBounded) {
  auto c = ready();
  for (std::size_t i = 0; i <= limits::session_queued_tasks; ++i)
    ASSERT_TRUE(c.t.submit(i, "x"));
  const auto r = c.t.submit(9999, "x");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.failed().code, failure::limit_reached);

  auto d = ready();
  const std::string big(8u << 20, 'x');
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(d.t.submit(static_cast<task_id>(i), big)); // one with the worker, four wait
  EXPECT_FALSE(d.t.submit(9, "x"));
  d.take(d.t.abort(cancelled));
  EXPECT_TRUE(d.t.submit(10, big));
}
