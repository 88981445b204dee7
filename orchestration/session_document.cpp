#include "orchestration/session_document.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"
#include "orchestration/session_id.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> state_names{"starting", "running", "idle", "failed",
                                                      "stopped"};

void set_if(json& j, const char* key, const std::string& value) {
  if (!value.empty())
    j[key] = value;
}

std::optional<int> int_at(const json& j, const char* key) {
  const auto& m = member(j, key);
  if (!m.is_number_integer())
    return {};
  const auto v = m.get<std::int64_t>();
  return v >= -1 && v < 100'000 ? std::optional<int>(static_cast<int>(v)) : std::nullopt;
}

} // namespace

std::string_view to_text(session_state s) noexcept {
  return state_names[static_cast<std::size_t>(s)];
}

std::optional<session_state> session_state_from(std::string_view text) noexcept {
  for (std::size_t i = 0; i < state_names.size(); ++i)
    if (state_names[i] == text)
      return static_cast<session_state>(i);
  return {};
}

json to_json(const session_document& d) {
  json j{{"id", d.id},
         {"depth", d.depth},
         {"state", to_text(d.state)},
         {"task", d.task},
         {"text", d.text},
         {"cwd", d.cwd},
         {"createdAt", to_text(d.created_at)},
         {"updatedAt", to_text(d.updated_at)},
         {"usage",
          {{"cpuSeconds", d.usage.cpu_seconds},
           {"peakRssBytes", d.usage.peak_rss_bytes},
           {"inputTokens", d.usage.input_tokens},
           {"outputTokens", d.usage.output_tokens},
           {"cost", d.usage.cost}}}};
  set_if(j, "name", d.name);
  set_if(j, "parentId", d.parent_id);
  set_if(j, "error", d.error);
  set_if(j, "model", d.model);
  if (d.ended_at)
    j["endedAt"] = to_text(*d.ended_at);
  if (d.exit)
    j["exit"] = *d.exit;
  return j;
}

json to_summary(const session_document& d) {
  auto shorter = d;
  shorter.task = bounded(d.task, limits::status_text_bytes);
  shorter.text = bounded(d.text, limits::status_text_bytes);
  return to_json(shorter);
}

result<session_document> session_document_from(const json& j) {
  session_document d;
  d.id = string_at(j, "id");
  if (!is_session_id(d.id))
    return error{failure::fault, "a session document without an id"};
  const auto state = session_state_from(string_at(j, "state"));
  const auto created = instant_from(string_at(j, "createdAt"));
  const auto updated = instant_from(string_at(j, "updatedAt"));
  if (!state || !created || !updated)
    return error{failure::fault, "session document " + d.id + ": no state or no times"};
  d.state = *state;
  d.created_at = *created;
  d.updated_at = *updated;
  d.ended_at = instant_from(string_at(j, "endedAt"));
  d.name = string_at(j, "name");
  d.parent_id = string_at(j, "parentId");
  d.depth = static_cast<unsigned>(std::min<std::uint64_t>(count_at(j, "depth"), 1000));
  d.task = string_at(j, "task");
  d.text = string_at(j, "text");
  d.error = string_at(j, "error");
  d.cwd = string_at(j, "cwd");
  d.model = string_at(j, "model");
  d.exit = int_at(j, "exit");
  const auto& u = member(j, "usage");
  d.usage.cpu_seconds = number_at(u, "cpuSeconds");
  d.usage.peak_rss_bytes = count_at(u, "peakRssBytes");
  d.usage.input_tokens = count_at(u, "inputTokens");
  d.usage.output_tokens = count_at(u, "outputTokens");
  d.usage.cost = number_at(u, "cost");
  return d;
}

std::optional<int> exit_status(const worker_exit& e) {
  return e.signal ? std::optional<int>(128 + *e.signal) : e.code;
}

std::string to_text(const worker_exit& e) {
  if (e.signal)
    return "signal " + std::to_string(*e.signal);
  if (e.code)
    return "exit " + std::to_string(*e.code);
  return "an unknown end";
}

} // namespace piorch::orchestration
