// What `piorch status` shows: sessions as a table for people. Pure; the
// caller brings the time and the width.
#pragma once

#include "orchestration/session_document.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::orchestration {

struct table_options {
  std::size_t columns = 100; // of the terminal; the last column is cut to fit
  bool colour = false;
};

// Live ones first, each group youngest first; children below their parents'
// names. One line per session under a header; "no sessions" when there is none.
std::string status_table(std::vector<session_document> sessions, instant now,
                         const table_options& options);

// Everything about one session, a line each.
std::string status_details(const session_document& d, instant now);

// "3 s", "5 min", "2 h", "4 d".
std::string age_text(std::chrono::milliseconds age);

// "950", "12.3k", "4.1M".
std::string count_text(std::uint64_t n);

// Text of a session as it may appear on a terminal: control characters (an escape sequence
// could rewrite the screen, a bidirectional one reorder a line) become visible, LF and TAB stay.
std::string printable(std::string_view text);
// Likewise in one line, at most `columns` characters.
std::string one_line(std::string_view text, std::size_t columns);

// The shortest beginning of `id`, 8 digits at least, that no other one shares.
std::string short_id(const std::string& id, const std::vector<std::string>& all);

} // namespace piorch::orchestration
