#include "ipc/jsonrpc.hpp"

#include "ipc/json_text.hpp"

#include <array>

namespace piorch::ipc {

namespace {

using nlohmann::json;

constexpr std::size_t longest_id = 256; // it is kept and sent back: keep it small

struct mapping {
  failure code;
  rpc_code wire;
  const char* name;
};
constexpr std::array mappings{
    mapping{failure::fault, rpc_code::internal_error, "fault"},
    mapping{failure::usage, rpc_code::invalid_params, "usage"},
    mapping{failure::limit_reached, rpc_code::limit_reached, "limit_reached"},
    mapping{failure::unknown_session, rpc_code::unknown_session, "unknown_session"},
    mapping{failure::unknown_approval, rpc_code::approval_unavailable, "unknown_approval"},
    mapping{failure::session_failed, rpc_code::session_failed, "session_failed"},
    mapping{failure::session_stopped, rpc_code::session_stopped, "session_stopped"},
    mapping{failure::sandbox_unavailable, rpc_code::sandbox_unavailable, "sandbox_unavailable"},
    mapping{failure::configuration_invalid, rpc_code::configuration_invalid,
            "configuration_invalid"},
    mapping{failure::timed_out, rpc_code::timed_out, "timed_out"},
    mapping{failure::cancelled, rpc_code::cancelled, "cancelled"},
    mapping{failure::approval_unavailable, rpc_code::approval_unavailable, "approval_unavailable"},
    mapping{failure::unreachable, rpc_code::internal_error, "unreachable"},
};

bool refuse(rpc_refusal& refusal, rpc_code code, std::string text) {
  refusal.error = {code, std::move(text), nullptr};
  return false;
}

// string, number or null; anything else is no id.
bool read_id(const json& value, rpc_id& id) {
  if (!value.is_string() && !value.is_number() && !value.is_null())
    return false;
  std::string text = write_json(value);
  if (text.size() > longest_id)
    return false;
  id = rpc_id(std::move(text));
  return true;
}

bool read_error(const json& value, rpc_error& out) {
  if (!value.is_object())
    return false;
  const auto code = value.find("code");
  const auto message = value.find("message");
  if (code == value.end() || !code->is_number_integer() || message == value.end() ||
      !message->is_string())
    return false;
  out.code = static_cast<rpc_code>(code->get<int>());
  out.message = message->get<std::string>();
  if (const auto data = value.find("data"); data != value.end())
    out.data = *data;
  return true;
}

bool read_response(json& body, rpc_message& message, rpc_refusal& refusal) {
  const auto result = body.find("result");
  const auto failed = body.find("error");
  if ((result == body.end()) == (failed == body.end()))
    return refuse(refusal, rpc_code::invalid_request,
                  "a message has a \"method\", a \"result\" or an \"error\", exactly one of them");
  if (!message.id.present())
    return refuse(refusal, rpc_code::invalid_request, "an answer needs the \"id\" of its request");
  if (result != body.end()) {
    message.what = rpc_message::kind::response;
    message.result = std::move(*result);
    return true;
  }
  message.what = rpc_message::kind::error;
  if (!read_error(*failed, message.failed))
    return refuse(refusal, rpc_code::invalid_request,
                  "\"error\" must be an object with a number \"code\" and a string \"message\"");
  return true;
}

std::string open_envelope() { return "{\"jsonrpc\":\"2.0\""; }

} // namespace

bool parse_rpc(std::string_view line, rpc_message& message, rpc_refusal& refusal) {
  message = {};
  refusal = {};
  json body;
  if (auto outcome = parse_json(line, body); outcome.fault != json_fault::none)
    return refuse(refusal,
                  outcome.fault == json_fault::syntax ? rpc_code::parse_error
                                                      : rpc_code::invalid_request,
                  std::move(outcome.text));
  if (body.is_array())
    return refuse(refusal, rpc_code::invalid_request,
                  "batches are not supported; send one message per line");
  if (!body.is_object())
    return refuse(refusal, rpc_code::invalid_request, "a message must be a JSON object");
  if (const auto id = body.find("id"); id != body.end()) {
    if (!read_id(*id, message.id))
      return refuse(refusal, rpc_code::invalid_request,
                    "\"id\" must be a string, a number or null of at most " +
                        std::to_string(longest_id) + " bytes");
    refusal.id = message.id;
  }
  const auto version = body.find("jsonrpc");
  if (version == body.end() || *version != "2.0")
    return refuse(refusal, rpc_code::invalid_request, "\"jsonrpc\" must be \"2.0\"");
  const auto method = body.find("method");
  if (method == body.end())
    return read_response(body, message, refusal);
  if (!method->is_string())
    return refuse(refusal, rpc_code::invalid_request, "\"method\" must be a string");
  if (body.contains("result") || body.contains("error"))
    return refuse(refusal, rpc_code::invalid_request,
                  "a message has a \"method\", a \"result\" or an \"error\", exactly one of them");
  message.what =
      message.id.present() ? rpc_message::kind::request : rpc_message::kind::notification;
  message.method = std::move(method->get_ref<std::string&>());
  message.params = json::object();
  if (const auto params = body.find("params"); params != body.end()) {
    if (!params->is_object())
      return refuse(refusal, rpc_code::invalid_params, "\"params\" must be an object");
    message.params = std::move(*params);
  }
  return true;
}

std::string rpc_request(const rpc_id& id, std::string_view method, const json& params) {
  std::string line = open_envelope();
  line += ",\"id\":" + id.text() + ",\"method\":";
  append_json_string(line, method);
  return line + ",\"params\":" + write_json(params) + "}";
}

std::string rpc_notification(std::string_view method, const json& params) {
  std::string line = open_envelope() + ",\"method\":";
  append_json_string(line, method);
  return line + ",\"params\":" + write_json(params) + "}";
}

std::string rpc_result(const rpc_id& id, const json& result) {
  return rpc_result_line(id, write_json(result));
}

std::string rpc_result_line(const rpc_id& id, std::string_view result_json) {
  std::string line = open_envelope() + ",\"id\":" + id.text() + ",\"result\":";
  line += result_json;
  return line += '}';
}

std::string rpc_failure(const rpc_id& id, const rpc_error& error) {
  json body{{"code", static_cast<int>(error.code)}, {"message", error.message}};
  if (!error.data.is_null())
    body["data"] = error.data;
  return open_envelope() + ",\"id\":" + (id.present() ? id.text() : "null") +
         ",\"error\":" + write_json(body) + "}";
}

rpc_error to_rpc(const error& failed) {
  for (const auto& m : mappings)
    if (m.code == failed.code)
      return {m.wire, failed.text, {{"kind", m.name}}};
  return {rpc_code::internal_error, failed.text, nullptr};
}

error from_rpc(const rpc_error& failed) {
  if (failed.data.is_object())
    if (const auto kind = failed.data.find("kind"); kind != failed.data.end() && kind->is_string())
      for (const auto& m : mappings)
        if (kind->get_ref<const std::string&>() == m.name)
          return {m.code, failed.message};
  for (const auto& m : mappings)
    if (m.wire == failed.code)
      return {m.code, failed.message};
  return {failure::fault, failed.message};
}

} // namespace piorch::ipc
