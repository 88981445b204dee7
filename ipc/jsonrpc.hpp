// JSON-RPC 2.0 envelopes: one line in, one of four kinds of message out, and the
// lines we send. Batches are refused. Knows no method.
#pragma once

#include "config/result.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace piorch::ipc {

// Contract, section 5.
enum class rpc_code : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  limit_reached = -32001,
  unknown_session = -32002,
  session_failed = -32003,
  session_stopped = -32004,
  sandbox_unavailable = -32005,
  configuration_invalid = -32006,
  timed_out = -32007,
  cancelled = -32008,
  approval_unavailable = -32009,
};

// An id as its JSON text ("7", "\"a\"", "null"), so that it is answered exactly
// as it was asked. Empty: the message has none (a notification).
class rpc_id {
public:
  rpc_id() = default;
  explicit rpc_id(std::string json_text) : text_(std::move(json_text)) {}
  static rpc_id null() { return rpc_id("null"); }
  static rpc_id number(long long n) { return rpc_id(std::to_string(n)); }

  bool present() const noexcept { return !text_.empty(); }
  const std::string& text() const noexcept { return text_; }
  friend bool operator==(const rpc_id& a, const rpc_id& b) { return a.text_ == b.text_; }
  friend bool operator!=(const rpc_id& a, const rpc_id& b) { return !(a == b); }
  friend bool operator<(const rpc_id& a, const rpc_id& b) { return a.text_ < b.text_; }

private:
  std::string text_;
};

struct rpc_error {
  rpc_code code = rpc_code::internal_error;
  std::string message;
  nlohmann::json data; // null: left out
};

struct rpc_message {
  enum class kind { request, notification, response, error };
  kind what = kind::request;
  rpc_id id;             // of all but a notification
  std::string method;    // request, notification
  nlohmann::json params; // request, notification: an object
  nlohmann::json result; // response
  rpc_error failed;      // error
};

// A line that is no message, with the id to answer it to (null if unknown).
struct rpc_refusal {
  rpc_id id = rpc_id::null();
  rpc_error error;
};

// Either `message` is valid and true is returned, or `refusal` is.
bool parse_rpc(std::string_view line, rpc_message& message, rpc_refusal& refusal);

// The lines, without LF.
std::string rpc_request(const rpc_id& id, std::string_view method, const nlohmann::json& params);
std::string rpc_notification(std::string_view method, const nlohmann::json& params);
std::string rpc_result(const rpc_id& id, const nlohmann::json& result);
std::string rpc_result_line(const rpc_id& id, std::string_view result_json);
std::string rpc_failure(const rpc_id& id, const rpc_error& error);

// Between our failures and the wire. The kind travels in data.kind, so that a
// client of ours gets back exactly what was sent.
rpc_error to_rpc(const error& failed);
error from_rpc(const rpc_error& failed);

} // namespace piorch::ipc
