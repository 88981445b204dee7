// `piorch status --watch` on a terminal: sessions, commands and pending approvals of all
// orchestrators, drawn again when something changes, with keys that answer. Main thread.
#pragma once

namespace piorch::cli {

// Is stdout a terminal on which lines can be drawn over?
bool can_watch_on_terminal();

// Until q or Ctrl-C. The exit status.
int watch_on_terminal();

} // namespace piorch::cli
