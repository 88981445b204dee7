// What the program says: whole texts in one write, no streams, so that a command
// that says nothing pays nothing. Main thread.
#pragma once

#include <string>
#include <string_view>

namespace piorch::cli {

// Writes all of `text` to stdout. The status to exit with: 0, or 1 after one
// line on stderr when it could not be written (a full disk must not look like
// success).
int print(std::string_view text);

// The same for what a worker said: on a terminal with everything that drives one made
// visible, elsewhere as it is.
int print_foreign(std::string_view text);

// "piorch COMMAND: TEXT" as one line on stderr; "piorch: TEXT" without a command.
void complain(std::string_view command, std::string_view text);

// Complains, points to the help and answers the status for wrong usage: 2, and
// 125 for `exec`, whose 2 would be the command's own.
int usage_error(std::string_view command, std::string_view text);

// May this descriptor get colour, and lines that are drawn again: a terminal that can show
// it, and no NO_COLOR.
bool colour_wanted(int fd);
bool is_dumb_terminal();

} // namespace piorch::cli
