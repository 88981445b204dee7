// The first task of a session that takes over from another one. Pure.
#pragma once

#include <string>
#include <string_view>

namespace piorch::orchestration {

// `task` after what the parent had said last; the task alone when it said nothing.
// The parent's text is fenced, so that it reads as material and not as orders.
inline std::string handoff_task(std::string_view parent_text, std::string_view task) {
  if (parent_text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return std::string(task);
  std::string out =
      "This is the result of an earlier session, for you to build on:\n\n<previous-result>\n";
  out += parent_text;
  if (out.back() != '\n')
    out += '\n';
  out += "</previous-result>\n\nYour task:\n";
  out += task;
  return out;
}

} // namespace piorch::orchestration
