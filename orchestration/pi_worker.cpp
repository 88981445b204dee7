#include "orchestration/pi_worker.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace piorch::orchestration::pi_worker {

using nlohmann::json;

namespace {

constexpr std::size_t short_text = 4096; // names, errors, titles

// Events that repeat what others said already (agent_end holds every message of
// its run again) and can be as long as a line may be: known by their beginning,
// so that they are never parsed.
constexpr std::array<std::string_view, 8> repetitions{R"({"type":"agent_end")",
                                                      R"({"type":"turn_start")",
                                                      R"({"type":"turn_end")",
                                                      R"({"type":"message_start")",
                                                      R"({"type":"entry_appended")",
                                                      R"({"type":"queue_update")",
                                                      R"({"type":"tool_execution_update")",
                                                      R"({"type":"bash_execution_update")"};

bool is_repetition(std::string_view line) {
  for (auto begin : repetitions)
    if (line.compare(0, begin.size(), begin) == 0)
      return true;
  return false;
}

std::string short_at(const json& j, const char* key) {
  return bounded(string_at(j, key), short_text);
}

// Content is a string or an array of parts, depending on the role.
std::string text_of(const json& content) {
  if (content.is_string())
    return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const auto& part : content)
      if (string_at(part, "type") == "text")
        text += string_at(part, "text");
  return text;
}

token_usage usage_of(const json& j) {
  token_usage u;
  u.input_tokens = count_at(j, "input") + count_at(j, "cacheRead") + count_at(j, "cacheWrite");
  u.output_tokens = count_at(j, "output");
  u.cost = number_at(member(j, "cost"), "total");
  return u;
}

event response_from(const json& j) {
  response r;
  r.id = short_at(j, "id");
  r.command = short_at(j, "command");
  r.success = bool_at(j, "success");
  r.error = short_at(j, "error");
  const auto& data = member(j, "data");
  r.disposition = short_at(data, "disposition");
  r.busy = bool_at(data, "isStreaming");
  const auto& model = member(data, "model");
  if (const auto id = short_at(model, "id"); !id.empty())
    r.model = short_at(model, "provider") + "/" + id;
  return r;
}

event message_from(const json& message) {
  const auto role = string_at(message, "role");
  auto text = bounded(text_of(member(message, "content")), limits::session_text_bytes);
  if (role == "user")
    return user_message{std::move(text)};
  if (role == "assistant")
    return assistant_message{std::move(text), short_at(message, "stopReason"),
                             short_at(message, "errorMessage"), usage_of(member(message, "usage"))};
  return ignored{};
}

event delta_from(const json& j) {
  if (string_at(j, "type") != "text_delta")
    return ignored{};
  return text_delta{string_at(j, "delta")};
}

event tool_end_from(const json& j) {
  const auto& result = member(j, "result");
  return tool_ended{short_at(j, "toolCallId"), short_at(j, "toolName"),
                    bounded_tail(text_of(member(result, "content")), limits::tool_output_bytes),
                    bool_at(j, "isError"), count_at(j, "durationMs")};
}

event dialog_from(const json& j) {
  auto method = short_at(j, "method");
  if (method == "notify")
    return notice{short_at(j, "message")};
  // What only shows something waits for nobody.
  if (method.compare(0, 3, "set") == 0)
    return ignored{};
  return dialog{string_at(j, "id"), std::move(method), short_at(j, "title")};
}

std::string command(std::string_view id, const char* type) {
  return dump({{"id", id}, {"type", type}}) + '\n';
}

} // namespace

event parse(std::string_view line) {
  if (is_repetition(line))
    return ignored{};
  const auto excerpt = [&] { return bounded(line, 200); };
  const auto parsed =
      orchestration::parse(line, limits::worker_json_depth, limits::worker_json_values);
  if (!parsed)
    return unreadable{"not JSON, or nested without measure", excerpt()};
  const json& j = *parsed;
  if (!j.is_object())
    return unreadable{"not a JSON object", excerpt()};
  const auto type = string_at(j, "type");
  if (type == "response")
    return response_from(j);
  if (type == "agent_start")
    return run_started{};
  if (type == "agent_settled")
    return run_settled{bool_at(j, "aborted")};
  if (type == "message_end")
    return message_from(member(j, "message"));
  if (type == "message_update")
    return delta_from(member(j, "assistantMessageEvent"));
  if (type == "tool_execution_start")
    return tool_started{short_at(j, "toolCallId"), short_at(j, "toolName"),
                        bounded(dump(member(j, "args")), limits::tool_output_bytes)};
  if (type == "tool_execution_end")
    return tool_end_from(j);
  if (type == "auto_retry_start")
    return retry_started{count_at(j, "attempt"), count_at(j, "maxAttempts"), count_at(j, "delayMs"),
                         short_at(j, "errorMessage")};
  if (type == "extension_ui_request")
    return dialog_from(j);
  if (type == "extension_error")
    return notice{"extension " + short_at(j, "extensionPath") + ": " + short_at(j, "error")};
  if (type.empty())
    return unreadable{"no type", excerpt()};
  return ignored{};
}

std::string prompt(std::string_view id, std::string_view message) {
  return dump({{"id", id},
               {"type", "prompt"},
               {"message", message},
               {"streamingBehavior", "followUp"}}) +
         '\n';
}
std::string get_state(std::string_view id) { return command(id, "get_state"); }
std::string clear_queue(std::string_view id) { return command(id, "clear_queue"); }
std::string abort(std::string_view id) { return command(id, "abort"); }
std::string cancel_dialog(std::string_view id) {
  return dump({{"type", "extension_ui_response"}, {"id", id}, {"cancelled", true}}) + '\n';
}

} // namespace piorch::orchestration::pi_worker
