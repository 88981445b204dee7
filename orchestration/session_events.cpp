#include "orchestration/session_events.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

namespace piorch::orchestration::session_events {

using nlohmann::json;

std::string state(session_state s, const std::string& error) {
  json j{{"type", "state"}, {"state", to_text(s)}};
  if (!error.empty())
    j["error"] = error;
  return dump(j);
}

std::string task(task_id id, std::string_view text) {
  return dump({{"type", "task"}, {"task", id}, {"text", text}});
}

std::string text(std::string_view delta) { return dump({{"type", "text"}, {"delta", delta}}); }

std::string message(const pi_worker::assistant_message& m) {
  json j{{"type", "message"}, {"text", m.text}, {"stopReason", m.stop_reason}};
  if (!m.error_message.empty())
    j["error"] = m.error_message;
  return dump(j);
}

std::string tool_start(const pi_worker::tool_started& t) {
  json j{{"type", "toolStart"}, {"callId", t.call_id}, {"tool", t.tool}};
  auto arguments = parse(t.arguments, limits::worker_json_depth, limits::worker_json_values);
  j["arguments"] = arguments ? std::move(*arguments) : json(t.arguments); // cut ones stay text
  return dump(j);
}

std::string tool_end(const pi_worker::tool_ended& t) {
  return dump({{"type", "toolEnd"},
               {"callId", t.call_id},
               {"tool", t.tool},
               {"isError", t.is_error},
               {"output", t.output},
               {"durationMs", t.duration_ms}});
}

std::string retry(const pi_worker::retry_started& r) {
  return dump({{"type", "retry"},
               {"attempt", r.attempt},
               {"attempts", r.attempts},
               {"delayMs", r.delay_ms},
               {"error", r.error}});
}

std::string sandbox(std::string_view kind, std::string_view fact_json) {
  auto fact = parse(fact_json, limits::worker_json_depth, limits::worker_json_values);
  return dump({{"type", kind}, {"fact", fact ? std::move(*fact) : json(bounded(fact_json, 1000))}});
}

std::string warning(std::string_view text) { return dump({{"type", "warning"}, {"text", text}}); }

std::string answered(const answer& a) {
  json j{{"type", "answer"}, {"task", a.task}};
  if (a.outcome)
    j["text"] = *a.outcome;
  else
    j["error"] = a.outcome.failed().text;
  return dump(j);
}

std::string gap(std::uint64_t from, std::uint64_t to, std::string_view why) {
  return dump({{"type", "gap"}, {"from", from}, {"to", to}, {"reason", why}});
}

} // namespace piorch::orchestration::session_events
