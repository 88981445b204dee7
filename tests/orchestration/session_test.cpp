#include "orchestration/json_text.hpp"
#include "tests/orchestration/session_fixture.hpp"

using namespace piorch;
using namespace piorch::orchestration;
using nlohmann::json;
using fixture = session_fixture;

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
