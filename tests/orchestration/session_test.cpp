#include "orchestration/session.hpp"

#include "orchestration/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace piorch;
using namespace piorch::orchestration;
using nlohmann::json;

namespace {

const std::string id = "0193" + std::string(28, '0');
constexpr instant t0{std::chrono::milliseconds{1'795'984'418'711}};

struct fixture {
  session s{make(), t0};
  std::vector<json> events;
  std::vector<json> sent;
  std::vector<answer> answers;
  std::vector<task_id> accepted;
  session_effects last;

  static session_spec make() {
    session_spec spec;
    spec.id = id;
    spec.name = "n";
    spec.cwd = "/w";
    spec.providers = {{"fake", "127.0.0.1", 18080}, {"far", "model.example.org", 443}};
    return spec;
  }
  void take(session_effects e) {
    for (auto& ev : e.events)
      events.push_back(json::parse(ev.json));
    for (auto& l : e.to_worker)
      sent.push_back(json::parse(l));
    for (auto& a : e.answers)
      answers.push_back(a);
    for (auto a : e.accepted)
      accepted.push_back(a);
    last = std::move(e);
  }
  void out(const std::string& bytes) { take(s.worker_output(bytes, t0)); }
  void line(const json& j) { out(j.dump() + "\n"); }
  void submit(task_id t, const std::string& text) {
    auto r = s.submit(t, text, t0);
    ASSERT_TRUE(r) << r.failed().text;
    take(std::move(*r));
  }
  void start() {
    take(s.begin(t0));
    take(s.worker_up(t0));
    line({{"id", "ready"},
          {"type", "response"},
          {"command", "get_state"},
          {"success", true},
          {"data", {{"model", {{"id", "scripted"}, {"provider", "fake"}}}}}});
  }
  void respond(const char* type, const char* disposition) {
    std::string reply_id;
    for (auto& j : sent)
      if (j["type"] == type)
        reply_id = j["id"];
    line({{"id", reply_id},
          {"type", "response"},
          {"command", type},
          {"success", true},
          {"data", {{"disposition", disposition}}}});
  }
  void user(const std::string& text = "x") {
    line({{"type", "message_end"}, {"message", {{"role", "user"}, {"content", text}}}});
  }
  void delta(const std::string& text) {
    line({{"type", "message_update"},
          {"assistantMessageEvent", {{"type", "text_delta"}, {"delta", text}}}});
  }
  void says(const std::string& text, const char* reason = "stop", const char* error = nullptr) {
    json m{{"role", "assistant"},
           {"content", text},
           {"stopReason", reason},
           {"usage", {{"input", 10}, {"output", 2}, {"cost", {{"total", 0.5}}}}}};
    if (error)
      m["errorMessage"] = error;
    line({{"type", "message_end"}, {"message", m}});
  }
  void settled(bool aborted = false) { line({{"type", "agent_settled"}, {"aborted", aborted}}); }
  std::vector<std::string> types() const {
    std::vector<std::string> t;
    for (auto& e : events)
      t.push_back(e["type"]);
    return t;
  }
};

} // namespace

TEST(Session, StartsAsksForReadinessAndRuns) {
  fixture f;
  f.take(f.s.begin(t0));
  EXPECT_EQ(f.s.document().state, session_state::starting);
  f.submit(1, "do it");
  EXPECT_EQ(f.s.document().task, "do it");
  EXPECT_TRUE(f.sent.empty());
  f.take(f.s.worker_up(t0));
  ASSERT_EQ(f.sent.size(), 1u);
  EXPECT_EQ(f.sent[0]["type"], "get_state");
  f.line({{"id", "ready"},
          {"type", "response"},
          {"success", true},
          {"data", {{"model", {{"id", "scripted"}, {"provider", "fake"}}}}}});
  EXPECT_EQ(f.s.document().state, session_state::running);
  EXPECT_EQ(f.s.document().model, "fake/scripted");
  f.respond("prompt", "started");
  EXPECT_EQ(f.accepted, std::vector<task_id>{1});
  f.user();
  f.says("done");
  f.settled();
  EXPECT_EQ(f.s.document().state, session_state::idle);
  EXPECT_EQ(f.s.document().text, "done");
  EXPECT_EQ(f.s.document().usage.input_tokens, 10u);
  EXPECT_DOUBLE_EQ(f.s.document().usage.cost, 0.5);
  ASSERT_EQ(f.answers.size(), 1u);
  EXPECT_EQ(f.types(),
            (std::vector<std::string>{"state", "state", "task", "message", "answer", "state"}));
}

TEST(Session, IdleWithoutATask) {
  fixture f;
  f.start();
  EXPECT_EQ(f.s.document().state, session_state::idle);
}

TEST(Session, AModelErrorKeepsTheSessionAndReplacesTheText) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.says("older");
  f.settled();
  f.submit(2, "b");
  f.respond("prompt", "started");
  f.user();
  f.says("", "error", "401: bad key");
  f.settled();
  const auto& d = f.s.document();
  EXPECT_EQ(d.state, session_state::idle);
  EXPECT_EQ(d.error, "401: bad key");
  EXPECT_EQ(d.text, "");
  EXPECT_EQ(d.task, "b");
  f.submit(3, "c");
  f.respond("prompt", "started");
  f.user();
  EXPECT_EQ(f.s.document().error, "") << "a new run has no error yet";
}

TEST(Session, AnUnreachableProviderIsNamedWithTheRemedy) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.says("", "error",
         "Connection error.: Proxy response (403) !== 200 when HTTP Tunneling (UND_ERR_ABORTED)");
  f.settled();
  EXPECT_NE(f.s.document().error.find("127.0.0.1:18080"), std::string::npos);
  EXPECT_NE(f.s.document().error.find("\"allowedLocalPorts\": [18080]"), std::string::npos);
}

TEST(Session, StreamedTextIsGatheredInOrder) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.events.clear();
  f.delta("one ");
  EXPECT_TRUE(f.last.arm_flush);
  f.delta("two");
  EXPECT_FALSE(f.last.arm_flush) << "one timer at a time";
  EXPECT_TRUE(f.events.empty());
  f.take(f.s.flush(t0));
  ASSERT_EQ(f.events.size(), 1u);
  EXPECT_EQ(f.events[0]["delta"], "one two");
  f.delta(" three");
  EXPECT_TRUE(f.last.arm_flush);
  f.line({{"type", "tool_execution_start"},
          {"toolCallId", "c"},
          {"toolName", "bash"},
          {"args", {{"command", "ls"}}}});
  EXPECT_EQ(f.types(), (std::vector<std::string>{"text", "text", "toolStart"}));
  EXPECT_EQ(f.events[2]["arguments"]["command"], "ls");
  f.delta(std::string(40'000, 'x'));
  EXPECT_EQ(f.types().back(), "text") << "not gathered without bound";
}

TEST(Session, ALostWorkerIsAFailureWithItsLastWordsAndThePartialText) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.submit(2, "b");
  f.respond("prompt", "started");
  f.user();
  f.delta("partial answ");
  f.s.worker_errors("line one\nError: heap out of memory\n");
  worker_end end;
  end.exit.signal = 9;
  end.cpu_seconds = 1.5;
  f.take(f.s.worker_gone(end, t0));
  const auto& d = f.s.document();
  EXPECT_EQ(d.state, session_state::failed);
  EXPECT_EQ(d.text, "partial answ");
  EXPECT_NE(d.error.find("signal 9"), std::string::npos);
  EXPECT_NE(d.error.find("heap out of memory"), std::string::npos);
  EXPECT_EQ(d.exit, 128 + 9);
  EXPECT_DOUBLE_EQ(d.usage.cpu_seconds, 1.5);
  EXPECT_TRUE(d.ended_at);
  EXPECT_TRUE(f.last.ended);
  ASSERT_EQ(f.answers.size(), 2u);
  EXPECT_EQ(f.answers[1].outcome.failed().code, failure::session_failed);
  EXPECT_EQ(f.types().back(), "state");
  const auto r = f.s.submit(3, "c", t0);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.failed().code, failure::session_failed);
  f.take(f.s.worker_gone(end, t0));
  EXPECT_FALSE(f.last.ended) << "it ends once";
}

TEST(Session, AWorkerThatDoesNotStart) {
  fixture f;
  f.take(f.s.begin(t0));
  f.submit(1, "a");
  f.s.worker_errors("Error: Model \"x/y\" not found.\n");
  worker_end end;
  end.exit.code = 1;
  f.take(f.s.worker_gone(end, t0));
  EXPECT_NE(f.answers.at(0).outcome.failed().text.find("did not start (exit 1)"),
            std::string::npos);
  EXPECT_NE(f.answers[0].outcome.failed().text.find("Model \"x/y\" not found"), std::string::npos);
}

TEST(Session, WhatMayHaveKeptAWorkerFromStartingIsSaid) {
  auto spec = fixture::make();
  spec.start_hint = "too little memory";
  worker_end crash;
  crash.exit.signal = 6;
  const auto error_of = [&](const worker_end& end, bool was_ready) {
    fixture f;
    f.s = session(spec, t0);
    if (was_ready)
      f.start();
    f.take(f.s.worker_gone(end, t0));
    return f.s.document().error;
  };
  EXPECT_EQ(error_of(crash, false), "the worker did not start (signal 6): too little memory");
  EXPECT_EQ(error_of(crash, true), "the worker ended by itself (signal 6)");
  worker_end lost;
  lost.lost = "no sandbox";
  EXPECT_EQ(error_of(lost, false), "no sandbox");
}

TEST(Session, StopIsNotAFailure) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.take(f.s.stop(t0));
  EXPECT_TRUE(f.last.end_worker);
  EXPECT_EQ(f.s.document().state, session_state::running) << "until the tree is gone";
  EXPECT_EQ(f.s.submit(2, "b", t0).failed().code, failure::session_stopped);
  f.take(f.s.stop(t0));
  EXPECT_FALSE(f.last.end_worker);
  worker_end end;
  end.exit.signal = 9;
  f.take(f.s.worker_gone(end, t0));
  EXPECT_EQ(f.s.document().state, session_state::stopped);
  EXPECT_EQ(f.s.document().error, "stopped before it had answered");
  EXPECT_EQ(f.answers.at(0).outcome.failed().code, failure::session_stopped);
}

TEST(Session, TimeOutOfATask) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.delta("some");
  f.take(f.s.expire(1, 5, t0));
  EXPECT_NE(f.last.abort_grace, 0u);
  f.says("some", "aborted");
  f.settled(true);
  f.respond("abort", "");
  ASSERT_EQ(f.answers.size(), 1u);
  EXPECT_EQ(f.answers[0].outcome.failed().text, "timed out after 5 s");
  EXPECT_EQ(f.answers[0].partial, "some");
  EXPECT_EQ(f.s.document().state, session_state::idle);
  f.take(f.s.abort_overdue(f.last.abort_grace, t0));
  EXPECT_FALSE(f.last.end_worker);
}

TEST(Session, AWorkerThatDoesNotAbortIsEnded) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.take(f.s.abort(t0));
  const auto number = f.last.abort_grace;
  ASSERT_NE(number, 0u);
  f.take(f.s.abort_overdue(number + 1, t0));
  EXPECT_FALSE(f.last.end_worker) << "the timer of another abort";
  f.take(f.s.abort_overdue(number, t0));
  EXPECT_TRUE(f.last.end_worker);
  f.take(f.s.worker_gone({}, t0));
  EXPECT_EQ(f.s.document().state, session_state::failed);
  EXPECT_NE(f.s.document().error.find("did not stop its run"), std::string::npos);
  EXPECT_EQ(f.answers.at(0).outcome.failed().code, failure::cancelled);
}

TEST(Session, AWorkerThatIsNeverReadyIsEnded) {
  fixture f;
  f.take(f.s.begin(t0));
  f.submit(1, "a");
  f.take(f.s.start_overdue(t0));
  EXPECT_TRUE(f.last.end_worker);
  f.take(f.s.worker_gone({}, t0));
  EXPECT_NE(f.answers.at(0).outcome.failed().text.find("not ready"), std::string::npos);
  fixture g;
  g.start();
  g.take(g.s.start_overdue(t0));
  EXPECT_FALSE(g.last.end_worker);
}

TEST(Session, DialogsAreCancelledAndGarbageIsAWarning) {
  fixture f;
  f.start();
  f.events.clear();
  f.line({{"type", "extension_ui_request"}, {"id", "d1"}, {"method", "confirm"}, {"title", "ok?"}});
  EXPECT_EQ(f.sent.back()["id"], "d1");
  EXPECT_EQ(f.sent.back()["cancelled"], true);
  f.out("null\ngarbage\n\xff\n");
  f.out(std::string(17u << 20, 'x'));
  f.out("\n");
  EXPECT_EQ(f.types(), std::vector<std::string>(5, "warning"));
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.says("still fine");
  f.settled();
  EXPECT_EQ(*f.answers.at(0).outcome, "still fine");
}

TEST(Session, StderrIsBounded) {
  fixture f;
  const std::string chunk(100'000, 'e');
  for (int i = 0; i < 10000; ++i)
    f.s.worker_errors(chunk);
  for (int i = 0; i < 100000; ++i)
    f.s.worker_errors("small line of text\n");
  EXPECT_LE(f.s.stderr_tail().size(), 2 * limits::stderr_tail_bytes);
}

TEST(Session, EmptyAndEndlessTasksAreRefused) {
  fixture f;
  f.start();
  EXPECT_EQ(f.s.submit(1, " \n", t0).failed().code, failure::usage);
  EXPECT_EQ(f.s.submit(1, std::string(9u << 20, 'x'), t0).failed().code, failure::usage);
  EXPECT_TRUE(f.s.settled());
}

TEST(Session, DocumentHasTheShapeOfTheContract) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user("a");
  f.says("text");
  f.settled();
  worker_end end;
  end.exit.code = 0;
  f.take(f.s.stop(t0));
  f.take(f.s.worker_gone(end, t0));
  const auto j = to_json(f.s.document());
  const json expected{{"id", id},
                      {"name", "n"},
                      {"depth", 1},
                      {"state", "stopped"},
                      {"task", "a"},
                      {"text", "text"},
                      {"cwd", "/w"},
                      {"model", "fake/scripted"},
                      {"createdAt", "2026-11-29T20:33:38.711Z"},
                      {"updatedAt", "2026-11-29T20:33:38.711Z"},
                      {"endedAt", "2026-11-29T20:33:38.711Z"},
                      {"exit", 0},
                      {"usage",
                       {{"cpuSeconds", 0.0},
                        {"peakRssBytes", 0},
                        {"inputTokens", 10},
                        {"outputTokens", 2},
                        {"cost", 0.5}}}};
  EXPECT_EQ(j, expected);
  const auto back = session_document_from(j);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), j);
}

TEST(SessionDocument, ReadsOnlyWhatItCanTrust) {
  EXPECT_FALSE(session_document_from(json(nullptr)));
  EXPECT_FALSE(session_document_from(json{{"id", "x"}}));
  EXPECT_FALSE(session_document_from(json{
      {"id", id}, {"state", "dancing"}, {"createdAt", to_text(t0)}, {"updatedAt", to_text(t0)}}));
  const auto d = session_document_from(json{{"id", id},
                                            {"state", "idle"},
                                            {"createdAt", to_text(t0)},
                                            {"updatedAt", to_text(t0)},
                                            {"usage", 7},
                                            {"exit", 1e9},
                                            {"task", 5}});
  ASSERT_TRUE(d);
  EXPECT_EQ(d->task, "");
}

TEST(SessionDocument, SummariesAreShort) {
  session_document d;
  d.id = id;
  d.text = std::string(100'000, 'x');
  const auto j = to_summary(d);
  EXPECT_LE(string_at(j, "text").size(), limits::status_text_bytes);
  EXPECT_NE(string_at(j, "text").find("bytes left out]"), std::string::npos);
  d.text = "short";
  EXPECT_EQ(to_summary(d), to_json(d));
}
