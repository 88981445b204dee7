// The session document of the protocol: what everybody is told about a session,
// and what the journal keeps of it. A value; any thread.
#pragma once

#include "config/result.hpp"
#include "orchestration/instant.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace piorch::orchestration {

enum class session_state { starting, running, idle, failed, stopped };

std::string_view to_text(session_state s) noexcept;
std::optional<session_state> session_state_from(std::string_view text) noexcept;

// Live sessions take a slot. The others never come back.
constexpr bool is_live(session_state s) noexcept {
  return s == session_state::starting || s == session_state::running || s == session_state::idle;
}

struct session_usage {
  double cpu_seconds = 0; // of the whole process tree, known at its end
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  double cost = 0; // as the worker's model table has it, in its currency (US dollars)
};

// How the worker ended: a status or a signal.
struct worker_exit {
  std::optional<int> code;
  std::optional<int> signal;
};

struct session_document {
  std::string id;
  std::string name;      // empty: none
  std::string parent_id; // empty: none
  unsigned depth = 1;
  session_state state = session_state::starting;
  std::string task;  // the newest
  std::string text;  // the newest answer; of a run that failed, what there was of it
  std::string error; // empty: none
  std::string cwd;
  std::string model; // empty: not known yet
  instant created_at;
  instant updated_at;
  std::optional<instant> ended_at;
  std::optional<int> exit; // of the worker: its status, 128+N after signal N
  session_usage usage;
};

nlohmann::json to_json(const session_document& d);

// Likewise with long tasks and texts cut (their end says so), for lists.
nlohmann::json to_summary(const session_document& d);

// Strict about what it needs (id, state, times), tolerant about the rest.
result<session_document> session_document_from(const nlohmann::json& j);

// "exit 1", "signal 9", "an unknown end".
std::string to_text(const worker_exit& e);
std::optional<int> exit_status(const worker_exit& e);

} // namespace piorch::orchestration
