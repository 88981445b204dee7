#include "ipc/jsonrpc.hpp"

#include "config/limits.hpp"
#include "ipc/json_text.hpp"

#include <gtest/gtest.h>

namespace piorch::ipc {
namespace {

using nlohmann::json;
using kind = rpc_message::kind;

rpc_message good(const std::string& line) {
  rpc_message message;
  rpc_refusal refusal;
  EXPECT_TRUE(parse_rpc(line, message, refusal)) << line << ": " << refusal.error.message;
  return message;
}
rpc_refusal bad(const std::string& line) {
  rpc_message message;
  rpc_refusal refusal;
  EXPECT_FALSE(parse_rpc(line, message, refusal)) << line;
  return refusal;
}

TEST(IpcJsonrpc, ReadsTheFourKinds) {
  auto m = good(R"({"jsonrpc":"2.0","id":7,"method":"a.b","params":{"x":[1]}})");
  EXPECT_EQ(m.what, kind::request);
  EXPECT_EQ(m.id, rpc_id::number(7));
  EXPECT_EQ(m.method, "a.b");
  EXPECT_EQ(m.params, json({{"x", {1}}}));
  m = good(R"({"jsonrpc":"2.0","method":"n"})");
  EXPECT_EQ(m.what, kind::notification);
  EXPECT_FALSE(m.id.present());
  EXPECT_EQ(m.params, json::object());
  m = good(R"({"jsonrpc":"2.0","id":"x","result":null})");
  EXPECT_EQ(m.what, kind::response);
  m = good(R"({"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"full","data":1}})");
  EXPECT_EQ(m.what, kind::error);
  EXPECT_EQ(m.failed.code, rpc_code::limit_reached);
  EXPECT_EQ(m.failed.message, "full");
  EXPECT_EQ(m.failed.data, 1);
}

TEST(IpcJsonrpc, KeepsIdsAsTheyCame) {
  for (const char* id :
       {"0", "-1", "18446744073709551615", "1.5", "\"\"", "\"7\"", "\"\\n\"", "null"})
    EXPECT_EQ(good(std::string(R"({"jsonrpc":"2.0","method":"m","id":)") + id + "}").id.text(), id);
  EXPECT_NE(rpc_id("\"7\""), rpc_id::number(7));
}

TEST(IpcJsonrpc, RefusesWhatIsNoMessageWithTheRightCode) {
  EXPECT_EQ(bad("").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad("{").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad("garbage").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad("{} {}").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","method":"\ud800"})").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":1e999,"method":"m"})").error.code, rpc_code::parse_error);
  EXPECT_EQ(bad(std::string("{\"a\":\0}", 7)).error.code, rpc_code::parse_error);
  EXPECT_EQ(bad("null").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad("[]").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad("{}").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"1.0","method":"m"})").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":2,"method":"m"})").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","method":1})").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{}})").error.code,
            rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":1,"method":"m","result":1})").error.code,
            rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","result":1})").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":1,"error":"x"})").error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})").error.code,
            rpc_code::invalid_params);
}

TEST(IpcJsonrpc, RefusesABatchAndSaysSo) {
  const auto refusal = bad(R"([{"jsonrpc":"2.0","id":1,"method":"m"}])");
  EXPECT_EQ(refusal.error.code, rpc_code::invalid_request);
  EXPECT_NE(refusal.error.message.find("batch"), std::string::npos);
  EXPECT_EQ(refusal.id, rpc_id::null());
}

TEST(IpcJsonrpc, AnswersARefusalToTheIdThatCouldBeRead) {
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":"q","method":1})").id.text(), "\"q\"");
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":[1],"method":"m"})").id, rpc_id::null());
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":")" + std::string(300, 'x') + R"(","method":"m"})").id,
            rpc_id::null());
}

TEST(IpcJsonrpc, RefusesAKeyGivenTwiceAtAnyDepth) {
  const auto top = bad(R"({"jsonrpc":"2.0","method":"a","method":"b"})");
  EXPECT_EQ(top.error.code, rpc_code::invalid_request);
  EXPECT_NE(top.error.message.find("\"method\" occurs twice"), std::string::npos);
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","method":"a","params":{"x":[{"y":1,"y":1}]}})").error.code,
            rpc_code::invalid_request);
}

TEST(IpcJsonrpc, BoundsDepthWithoutTouchingTheStack) {
  const auto nested = [](std::size_t levels) {
    return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"x":)" + std::string(levels, '[') +
           std::string(levels, ']') + "}}";
  };
  good(nested(limits::json_depth - 2));
  EXPECT_EQ(bad(nested(limits::json_depth - 1)).error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(nested(4u << 20)).error.code, rpc_code::invalid_request);
  EXPECT_EQ(bad(std::string(8u << 20, '[')).error.code, rpc_code::invalid_request);
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i)
    objects += R"({"a":)";
  EXPECT_EQ(bad(objects).error.code, rpc_code::invalid_request);
}

TEST(IpcJsonrpc, BoundsTheNumberOfValues) {
  std::string line = R"({"jsonrpc":"2.0","method":"m","params":{"x":[0)";
  for (std::size_t i = 0; i < limits::json_values; ++i)
    line += ",0";
  EXPECT_EQ(bad(line + "]}}").error.code, rpc_code::invalid_request);
}

TEST(IpcJsonrpc, WritesWhatItReads) {
  const json params{{"text", "a\n\"\xe2\x80\xa8"}, {"n", 1}};
  auto m = good(rpc_request(rpc_id::number(3), "x", params));
  EXPECT_EQ(m.params, params);
  EXPECT_EQ(good(rpc_notification("x\"y", params)).method, "x\"y");
  EXPECT_EQ(good(rpc_result(rpc_id("\"k\""), params)).result, params);
  m = good(rpc_failure(rpc_id::number(3), {rpc_code::timed_out, "late", {{"after", 5}}}));
  EXPECT_EQ(m.failed.code, rpc_code::timed_out);
  EXPECT_EQ(m.failed.data, json({{"after", 5}}));
  EXPECT_EQ(rpc_failure({}, {rpc_code::parse_error, "x", nullptr}),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}})");
}

TEST(IpcJsonrpc, WritesOneLineOfUtf8WhateverTheTextIs) {
  const auto line = rpc_result(rpc_id::number(1), json{{"text", "\xff\xfe\n\x01"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  good(line);
}

TEST(IpcJsonrpc, CarriesEveryFailureToTheOtherSide) {
  for (int i = static_cast<int>(failure::fault); i <= static_cast<int>(failure::unreachable); ++i) {
    const error sent{static_cast<failure>(i), "why " + std::to_string(i)};
    const auto m = good(rpc_failure(rpc_id::number(1), to_rpc(sent)));
    const error got = from_rpc(m.failed);
    EXPECT_EQ(got.code, sent.code);
    EXPECT_EQ(got.text, sent.text);
  }
  EXPECT_EQ(static_cast<int>(to_rpc({failure::unknown_session, ""}).code), -32002);
  EXPECT_EQ(static_cast<int>(to_rpc({failure::cancelled, ""}).code), -32008);
}

TEST(IpcJsonText, EscapesStrings) {
  std::string out;
  append_json_string(out, "plain");
  append_json_string(out, "q\"\\\n\xc3\xa9");
  EXPECT_EQ(out, "\"plain\"\"q\\\"\\\\\\n\xc3\xa9\"");
}

} // namespace
} // namespace piorch::ipc
