#include "ipc/protocol.hpp"

#include "ipc/base64.hpp"
#include "ipc/jsonrpc.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace piorch::ipc {
namespace {

using nlohmann::json;

template <class T> T accepted(const std::string& method, const json& params) {
  auto call = read_call(method, params);
  EXPECT_TRUE(call.has_value()) << method;
  EXPECT_TRUE(*call) << (*call ? "" : call->failed().text);
  return std::get<T>(**call);
}
std::string refused(const std::string& method, const json& params) {
  auto call = read_call(method, params);
  EXPECT_TRUE(call.has_value()) << method;
  EXPECT_FALSE(*call) << method << ' ' << params;
  if (*call)
    return "accepted";
  EXPECT_EQ(call->failed().code, failure::usage);
  return call->failed().text;
}

TEST(IpcProtocol, KnowsOnlyTheMethodsOfTheContract) {
  EXPECT_FALSE(read_call("", json::object()));
  EXPECT_FALSE(read_call("command.output", json::object()));
  EXPECT_FALSE(read_call("Session.start", json::object()));
}

TEST(IpcProtocol, WritesEveryCallAsItReadsIt) {
  const std::vector<rpc_call> calls{
      initialize_params{1, "pi", "1.6.0", true},
      command_run_params{"c1",
                         "ls | wc",
                         {},
                         "/w",
                         environment{{"A", "b"}},
                         "/bin/bash",
                         std::chrono::milliseconds(1500),
                         std::string("in\0put", 6)},
      command_run_params{"c2", {}, {"ls", "-l", ""}, "/w", {}, {}, {}, {}},
      command_cancel_params{"c1"},
      session_start_params{{"do", true, true, std::chrono::milliseconds(1)},
                           {"m", std::vector<std::string>{"read"}, "n", environment{}},
                           "/w"},
      session_follow_up_params{{"more", true, false, std::chrono::milliseconds(2000)}, "s"},
      session_handoff_params{{"go", false, false, {}},
                             {"m", std::vector<std::string>{}, "n", environment{{"X", ""}}},
                             "s",
                             "/x"},
      session_wait_params{"s", std::chrono::milliseconds(250)},
      session_status_params{},
      session_status_params{"s"},
      session_status_params{{}, 7},
      session_abort_params{"s"},
      session_stop_params{"s", false},
      session_stop_params{"", true},
      session_follow_params{"s", 12},
      session_unfollow_params{"s"},
      approval_list_params{},
      approval_list_params{7},
      command_list_params{},
      command_list_params{7},
      command_report_params{"4711-c3"},
      approval_answer_params{"a", {true, "user", "fine"}},
      worker_supervise_params{"/w", {"/t", "/u"}},
      shutdown_params{},
  };
  std::set<std::size_t> kinds;
  for (const auto& call : calls) {
    kinds.insert(call.index());
    const json params = write_params(call);
    auto again = read_call(method_name(call), params);
    ASSERT_TRUE(again && *again) << method_name(call) << (again ? again->failed().text : "");
    EXPECT_EQ((*again)->index(), call.index());
    EXPECT_EQ(write_params(**again), params) << method_name(call);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<rpc_call>) << "a method is missing in this test";
}

TEST(IpcProtocol, ReadsCommandRun) {
  const auto p = accepted<command_run_params>(
      "command.run", {{"id", "x"}, {"command", "make"}, {"cwd", "/w"}, {"timeoutSeconds", 0.25}});
  EXPECT_EQ(p.command, "make");
  EXPECT_EQ(p.timeout, std::chrono::milliseconds(250));
  EXPECT_FALSE(p.env);
  EXPECT_FALSE(p.input);
}

TEST(IpcProtocol, NamesTheFieldAndWhatIsAccepted) {
  const json good{{"id", "x"}, {"command", "make"}, {"cwd", "/w"}};
  const auto with = [&](const char* key, const json& value) {
    json params = good;
    params[key] = value;
    return refused("command.run", params);
  };
  EXPECT_EQ(refused("command.run", {{"command", "make"}, {"cwd", "/w"}}),
            "\"id\" must be a string of 1 to 256 bytes without NUL");
  EXPECT_EQ(with("id", ""), "\"id\" must be a string of 1 to 256 bytes without NUL");
  EXPECT_EQ(with("id", 5), "\"id\" must be a string of 1 to 256 bytes without NUL");
  EXPECT_EQ(with("cwd", "w"), "\"cwd\" must be an absolute path");
  EXPECT_EQ(with("cwd", std::string("/w\0x", 4)), "\"cwd\" must be an absolute path");
  EXPECT_EQ(with("command", std::string("a\0b", 3)), "\"command\" must be a string without NUL");
  EXPECT_NE(with("argv", json::array({"ls"})).find("exactly one of"), std::string::npos);
  EXPECT_NE(with("timeoutSeconds", 0).find("\"timeoutSeconds\" must be a number of seconds"),
            std::string::npos);
  EXPECT_NE(with("timeoutSeconds", "9").find("\"timeoutSeconds\""), std::string::npos);
  EXPECT_NE(with("timeoutSeconds", 1e300).find("\"timeoutSeconds\""), std::string::npos);
  EXPECT_NE(with("env", {{"", "x"}}).find("\"env\""), std::string::npos);
  EXPECT_NE(with("env", {{"A=B", "x"}}).find("\"env\""), std::string::npos);
  EXPECT_NE(with("env", {{"A", 1}}).find("\"env\""), std::string::npos);
  EXPECT_NE(with("stdin", 1).find("\"stdin\""), std::string::npos);
  EXPECT_NE(with("shell", "bash").find("\"shell\" must be an absolute path"), std::string::npos);
  EXPECT_NE(with("sandbox", false).find("unknown field \"sandbox\"; accepted: id, command"),
            std::string::npos);
  EXPECT_NE(refused("command.run", {{"id", "x"}, {"argv", json::array()}, {"cwd", "/"}})
                .find("\"argv\" must be an array that begins with the program"),
            std::string::npos);
}

TEST(IpcProtocol, RefusesWhatCannotBeMeant) {
  EXPECT_NE(
      refused("initialize", {{"protocolVersion", 2}, {"client", {{"name", "x"}, {"version", "1"}}}})
          .find("only version"),
      std::string::npos);
  EXPECT_EQ(refused("initialize", {{"protocolVersion", 1}, {"client", {{"name", "x"}}}}),
            "\"client.version\" must be a string without NUL");
  EXPECT_EQ(refused("session.start", {{"task", ""}, {"cwd", "/"}}),
            "\"task\" must be a string that is not empty");
  EXPECT_NE(refused("session.stop", json::object()).find("exactly one of"), std::string::npos);
  EXPECT_NE(refused("session.stop", {{"sessionId", "s"}, {"all", true}}).find("exactly one of"),
            std::string::npos);
  EXPECT_NE(refused("session.follow", {{"sessionId", "s"}, {"from", -1}}).find("\"from\""),
            std::string::npos);
  EXPECT_NE(refused("session.follow", {{"sessionId", "s"}, {"from", 1.5}}).find("\"from\""),
            std::string::npos);
  EXPECT_NE(refused("approval.answer", {{"id", "a"}, {"action", "yes"}})
                .find("\"action\" must be one of \"allow\", \"deny\""),
            std::string::npos);
  EXPECT_NE(refused("approval.answer", {{"id", "a"}, {"action", true}}).find("\"action\""),
            std::string::npos);
  EXPECT_EQ(refused("shutdown", {{"now", true}}), "unknown field \"now\"; accepted: none");
}

TEST(IpcProtocol, InitializeToleratesCapabilitiesItDoesNotKnow) {
  const auto p = accepted<initialize_params>(
      "initialize", {{"protocolVersion", 1},
                     {"client", {{"name", "x"}, {"version", "1"}, {"title", "X"}}},
                     {"capabilities", {{"approvals", true}, {"colour", "blue"}}}});
  EXPECT_TRUE(p.approvals);
}

template <class T> void expect_round_trip(const T& value) {
  const json first = write(value);
  auto again = read<T>(first);
  ASSERT_TRUE(again) << again.failed().text;
  EXPECT_EQ(write(*again), first);
}

TEST(IpcProtocol, WritesEveryAnswerAsItReadsIt) {
  expect_round_trip(session_follow_result{9});
  expect_round_trip(initialize_result{"0.1", 12, "linux", false, "no user namespaces"});
  expect_round_trip(initialize_result{"0.1", 12, "linux", true, ""});
  command_run_result r;
  r.exit_code = 3;
  r.duration = std::chrono::milliseconds(12);
  r.network = {{"example.org", 443, "deny", "deniedDomains"}};
  r.refused_paths = {{"/w/.git/hooks", "git hook"}};
  expect_round_trip(r);
  r.exit_code = {};
  r.signal = 9;
  r.timed_out = r.cancelled = r.ran_on_host = true;
  expect_round_trip(r);
  const approval_request a{"a", "network", "connect", "example.org:443", "curl", "/w", "s", "agent",
                           "p", "w",       "t"};
  expect_round_trip(a);
  expect_round_trip(approval_list_result{{a, a}, 3});
  expect_round_trip(approval_decision{false, "user", "no"});
  expect_round_trip(approval_cancelled{"a"});
}

TEST(IpcProtocol, CarriesSessionDocumentsWithoutLookingInside) {
  const std::string document = R"({"id":"s","text":"a\u0000b","usage":{"cost":0.5}})";
  const session_answer answer{document, std::string("nul \0 \n", 7)};
  auto again = read<session_answer>(json::parse(write_text(answer)));
  ASSERT_TRUE(again) << again.failed().text;
  EXPECT_EQ(json::parse(again->session), json::parse(document));
  EXPECT_EQ(again->text, answer.text);
  EXPECT_FALSE(read<session_answer>(json::parse(write_text({document, {}})))->text);
  EXPECT_FALSE(read<session_answer>(json{{"session", 1}}));
  for (std::size_t n : {0u, 1u, 3u}) {
    const session_status_result all{std::vector<std::string>(n, document)};
    EXPECT_EQ(read<session_status_result>(json::parse(write_text(all)))->sessions.size(), n);
  }
  rpc_message m;
  rpc_refusal refusal;
  EXPECT_TRUE(parse_rpc(rpc_result_line(rpc_id::number(1), write_text(answer)), m, refusal));
}

TEST(IpcProtocol, WritesTheContractsFieldNames) {
  command_run_result r;
  r.exit_code = 0;
  const json run = write(r);
  for (const char* name :
       {"exitCode", "signal", "timedOut", "cancelled", "ranOnHost", "durationMs", "network"})
    EXPECT_TRUE(run.contains(name)) << name;
  EXPECT_TRUE(run["signal"].is_null());
  const json init = write(initialize_result{"0.1", 12, "linux", true, ""});
  EXPECT_EQ(init["limits"], json({{"maxLiveSessions", 4}, {"maxDepth", 3}}));
  EXPECT_EQ(init["protocolVersion"], 1);
}

TEST(IpcProtocol, OnlyTheWordAllowAllows) {
  for (const json& v : {json{{"action", "ALLOW"}}, json{{"action", true}}, json::object(),
                        json{{"action", nullptr}}, json(nullptr), json::array({"allow"})})
    EXPECT_FALSE(read<approval_decision>(v)) << v;
  EXPECT_TRUE(read<approval_decision>(json{{"action", "allow"}})->allow);
  EXPECT_FALSE(read<approval_decision>(json{{"action", "deny"}})->allow);
}

TEST(IpcProtocol, BuildsNotificationsThatAreMessages) {
  std::string raw;
  for (int i = 0; i < 256; ++i)
    raw += static_cast<char>(i);
  rpc_message m;
  rpc_refusal refusal;
  ASSERT_TRUE(parse_rpc(command_output_line("c\"1", true, raw), m, refusal));
  EXPECT_EQ(m.method, command_output_method);
  auto output = read<command_output>(m.params);
  ASSERT_TRUE(output) << output.failed().text;
  EXPECT_EQ(output->id, "c\"1");
  EXPECT_TRUE(output->is_stderr);
  EXPECT_EQ(output->bytes, raw);
}

} // namespace
} // namespace piorch::ipc
