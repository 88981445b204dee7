// The events of a session as the journal and the followers see them. Own words
// instead of Pi's: small, stable across Pi's versions, nothing twice. Pure.
#pragma once

#include "orchestration/pi_worker.hpp"
#include "orchestration/session_document.hpp"
#include "orchestration/turns.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace piorch::orchestration::session_events {

std::string state(session_state s, const std::string& error);
std::string task(task_id id, std::string_view text);
std::string text(std::string_view delta);
std::string message(const pi_worker::assistant_message& m);
std::string tool_start(const pi_worker::tool_started& t);
std::string tool_end(const pi_worker::tool_ended& t);
std::string retry(const pi_worker::retry_started& r);
// What the sandbox did for or against the worker: `fact_json` is the broker's own.
std::string sandbox(std::string_view kind, std::string_view fact_json);
std::string warning(std::string_view text);
std::string answered(const answer& a);
std::string gap(std::uint64_t from, std::uint64_t to, std::string_view why);

} // namespace piorch::orchestration::session_events
