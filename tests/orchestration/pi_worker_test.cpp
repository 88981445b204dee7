// Lines as Pi 1.6.0 writes them, and lines as nobody should write them.
#include "orchestration/pi_worker.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace piorch;
using namespace piorch::orchestration::pi_worker;
using piorch::orchestration::escaped_bytes;

namespace {

template <class T> T get(std::string_view line) {
  auto e = parse(line);
  auto* t = std::get_if<T>(&e);
  EXPECT_TRUE(t) << "another kind of event (" << e.index() << "): " << line.substr(0, 200);
  return t ? *t : T{};
}

} // namespace

TEST(PiWorker, Responses) {
  auto r = get<response>(
      R"({"id":"a3","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}})");
  EXPECT_EQ(r.id, "a3");
  EXPECT_TRUE(r.success);
  EXPECT_EQ(r.disposition, "started");
  r = get<response>(
      R"({"id":"r","type":"response","command":"get_state","success":true,"data":{"model":{"id":"scripted",)"
      R"("name":"scripted","provider":"fake","baseUrl":"http://127.0.0.1:1/v1"},"isStreaming":true}})");
  EXPECT_EQ(r.model, "fake/scripted");
  EXPECT_TRUE(r.busy);
  r = get<response>(R"({"type":"response","success":false,"error":"Unknown command: undefined"})");
  EXPECT_EQ(r.id, "");
  EXPECT_FALSE(r.success);
  EXPECT_EQ(r.error, "Unknown command: undefined");
  r = get<response>(R"({"id":"c","type":"response","command":"abort","success":true})");
  EXPECT_TRUE(r.success);
}

TEST(PiWorker, Messages) {
  auto a = get<assistant_message>(
      R"({"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"running"},)"
      R"({"type":"toolCall","id":"call_0","name":"bash","arguments":{"command":"echo hi; exit 3"}}],"api":"openai-completions",)"
      R"("provider":"fake","model":"scripted","usage":{"input":100,"output":10,"cacheRead":5,"cacheWrite":1,"reasoning":0,)"
      R"("totalTokens":110,"cost":{"input":0.1,"output":0.2,"total":0.3}},"stopReason":"toolUse"}})");
  EXPECT_EQ(a.text, "running");
  EXPECT_EQ(a.stop_reason, "toolUse");
  EXPECT_EQ(a.usage.input_tokens, 106u);
  EXPECT_EQ(a.usage.output_tokens, 10u);
  EXPECT_DOUBLE_EQ(a.usage.cost, 0.3);
  a = get<assistant_message>(
      R"({"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"401: bad key"}})");
  EXPECT_EQ(a.text, "");
  EXPECT_EQ(a.error_message, "401: bad key");
  EXPECT_EQ(
      get<user_message>(
          R"({"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"a"},)"
          R"({"type":"image"},{"type":"text","text":"b"}]}})")
          .text,
      "ab");
  EXPECT_EQ(
      get<user_message>(R"({"type":"message_end","message":{"role":"user","content":"plain"}})")
          .text,
      "plain");
  get<ignored>(R"({"type":"message_end","message":{"role":"system","content":"x"}})");
  get<ignored>(R"({"type":"message_end","message":{"role":"toolResult","content":[]}})");
}

TEST(PiWorker, StreamedTextAndTools) {
  EXPECT_EQ(
      get<text_delta>(
          R"({"type":"message_update","usage":{},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"run"}})")
          .delta,
      "run");
  get<ignored>(
      R"({"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","delta":"{"}})");
  const auto s = get<tool_started>(
      R"({"type":"tool_execution_start","toolCallId":"call_0","toolName":"bash","args":{"command":"echo hi; exit 3"}})");
  EXPECT_EQ(s.tool, "bash");
  EXPECT_EQ(s.arguments, R"({"command":"echo hi; exit 3"})");
  const auto e = get<tool_ended>(
      R"({"type":"tool_execution_end","toolCallId":"call_0","toolName":"bash","result":{"content":[{"type":"text",)"
      R"("text":"hi\n\n\nCommand exited with code 3"}],"structuredContent":{"output":"hi\n"},"isError":true},"isError":true,"durationMs":23})");
  EXPECT_EQ(e.output, "hi\n\n\nCommand exited with code 3");
  EXPECT_TRUE(e.is_error);
  EXPECT_EQ(e.duration_ms, 23u);
  const auto r = get<retry_started>(
      R"({"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"500 x"})");
  EXPECT_EQ(r.attempt, 1u);
  EXPECT_EQ(r.delay_ms, 2000u);
  EXPECT_TRUE(get<run_settled>(R"({"type":"agent_settled","aborted":true})").aborted);
  EXPECT_FALSE(get<run_settled>(R"({"type":"agent_settled"})").aborted);
  get<run_started>(R"({"type":"agent_start"})");
}

TEST(PiWorker, Dialogs) {
  const auto d = get<dialog>(
      R"({"type":"extension_ui_request","id":"644d","method":"select","title":"Allow?","options":["Allow once","Deny"]})");
  EXPECT_EQ(d.id, "644d");
  EXPECT_EQ(cancel_dialog(d.id),
            "{\"cancelled\":true,\"id\":\"644d\",\"type\":\"extension_ui_response\"}\n");
  EXPECT_EQ(
      get<notice>(
          R"({"type":"extension_ui_request","id":"1","method":"notify","message":"up","notifyType":"info"})")
          .text,
      "up");
  get<ignored>(R"({"type":"extension_ui_request","id":"1","method":"setStatus"})");
  EXPECT_NE(
      get<notice>(
          R"({"type":"extension_error","extensionPath":"/x.js","event":"session_start","error":"boom"})")
          .text.find("boom"),
      std::string::npos);
}

TEST(PiWorker, WhatRepeatsItselfIsNotParsed) {
  // Not even JSON after its beginning: nobody looked.
  for (auto line : {R"({"type":"agent_end","messages":[[[)", R"({"type":"turn_end",)",
                    R"({"type":"message_start","m)", R"({"type":"tool_execution_update","x)",
                    R"({"type":"queue_update","steering":[],"followUp":["x"]})"})
    get<ignored>(line);
}

TEST(PiWorker, AnythingElseIsAnEventToo) {
  for (auto line : {"null", "42", "[]", "\"s\"", "", "{", "garbage", "{\"type\":42}", "{}",
                    "\xff\xfe", "{\"type\":\"\"}"})
    EXPECT_FALSE(get<unreadable>(line).why.empty());
  get<unreadable>(std::string(1 << 20, '['));
  get<unreadable>("[" + std::string(4 << 20, '0') + "]");
  get<ignored>(R"({"type":"of_a_newer_pi","x":null})");
}

TEST(PiWorker, WrongTypesEverywhere) {
  const char* types[] = {"response",         "agent_settled",        "message_end",
                         "message_update",   "tool_execution_start", "tool_execution_end",
                         "auto_retry_start", "extension_ui_request", "extension_error"};
  const char* values[] = {"null",
                          "42",
                          "-1e308",
                          "[]",
                          "[null,[],{}]",
                          "{}",
                          "\"x\"",
                          "true",
                          R"({"role":"assistant","content":{"x":1}})",
                          R"({"role":"user","content":[null,1,{"type":"text","text":7}]})"};
  const char* keys[] = {
      "id",         "command", "success",    "data",   "message", "assistantMessageEvent",
      "args",       "result",  "toolCallId", "method", "title",   "attempt",
      "durationMs", "error",   "isError",    "aborted"};
  for (auto type : types)
    for (auto key : keys)
      for (auto value : values)
        parse(std::string("{\"type\":\"") + type + "\",\"" + key + "\":" + value + "}");
  EXPECT_EQ(
      get<assistant_message>(
          R"({"type":"message_end","message":{"role":"assistant","content":null,"usage":{"input":-5,"output":"x","cost":7}}})")
          .usage.input_tokens,
      0u);
}

TEST(PiWorker, LongThingsAreBounded) {
  const std::string big(12u << 20, 'a');
  const auto m = get<assistant_message>(
      R"({"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":")" +
      big + "\"}}");
  EXPECT_LE(escaped_bytes(m.text), limits::session_text_bytes);
  EXPECT_NE(m.text.find("bytes left out]"), std::string::npos);
  const std::string five(5u << 20, 'a');
  EXPECT_EQ(
      get<assistant_message>(R"({"type":"message_end","message":{"role":"assistant","content":")" +
                             five + "\"}}")
          .text,
      five);
  const auto t = get<tool_ended>(
      R"({"type":"tool_execution_end","result":{"content":[{"type":"text","text":")" + five +
      R"(END"}]}})");
  EXPECT_LE(escaped_bytes(t.output), limits::tool_output_bytes);
  EXPECT_EQ(t.output.substr(t.output.size() - 3), "END");
  EXPECT_LE(get<unreadable>(five).excerpt.size(), 200u);
}

TEST(PiWorker, CommandsAreOneLine) {
  EXPECT_EQ(prompt("p1", "a\nb\xe2\x80\xa8"),
            "{\"id\":\"p1\",\"message\":\"a\\nb\xe2\x80\xa8\",\"streamingBehavior\":\"followUp\","
            "\"type\":\"prompt\"}\n");
  EXPECT_EQ(abort("a1"), "{\"id\":\"a1\",\"type\":\"abort\"}\n");
  EXPECT_EQ(get_state("x"), "{\"id\":\"x\",\"type\":\"get_state\"}\n");
  EXPECT_EQ(clear_queue("x"), "{\"id\":\"x\",\"type\":\"clear_queue\"}\n");
}
