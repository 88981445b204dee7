// What puts a terminal into a state in which a question can be read, whatever was printed
// before: it ends an unfinished escape sequence, another character set, colours, hidden
// text, margins, a paste protocol, output held back.
#pragma once

namespace piorch::config {

inline constexpr const char* reset_screen =
    "\x18\x1b\\\x0f\x1b(B\x1b[!p\x1b[0m\x1b[?2004l\x1b[?2026l";

} // namespace piorch::config
