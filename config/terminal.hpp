// Words about terminals. Pure; any thread.
#pragma once

#include <string_view>

namespace piorch::config {

// `kind` is the value of TERM, or null: nothing but text may be sent to such a terminal.
inline bool is_dumb_terminal(const char* kind) {
  return !kind || !*kind || std::string_view(kind) == "dumb";
}

// What puts a terminal into a state in which a question can be read, whatever was printed
// before: it ends an unfinished escape sequence, another character set, colours, hidden
// text, margins, a paste protocol, output held back.
inline constexpr const char* reset_screen =
    "\x18\x1b\\\x0f\x1b(B\x1b[!p\x1b[0m\x1b[?2004l\x1b[?2026l";

} // namespace piorch::config
