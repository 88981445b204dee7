// What a broker process asks of its orchestrator and what comes back: the JSON of
// the channel's approval_ask, approval_cancel and approval_answer frames. Pure.
#pragma once

#include "config/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace piorch::sandbox {

// A connection that no rule decides.
struct remote_question {
  std::string id;                          // the broker's own; the answer names it
  std::string destination;                 // "example.org:443"
  std::chrono::milliseconds time_limit{0}; // then the broker denies by itself; at most an hour
};
std::string question_text(const remote_question& q);
result<remote_question> read_question(std::string_view text);

// The question no longer matters.
std::string withdrawal_text(const std::string& id);
result<std::string> read_withdrawal(std::string_view text);

struct remote_answer {
  std::string id;
  bool allow = false;
  std::string source; // for the report, printable
  std::string reason; // for whoever is refused, printable; may be empty
};
std::string answer_text(const remote_answer& a);
result<remote_answer> read_answer(std::string_view text);

} // namespace piorch::sandbox
