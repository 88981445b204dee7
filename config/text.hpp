// Words for diagnostics: foreign text made safe for one line of a terminal, and
// the known name nearest to a mistyped one. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace piorch::config {

// `text` in double quotes, with control characters, escape sequences and
// everything that is not plain UTF-8 text written as \xNN, cut after
// `limit_bytes` with "…" so that a hostile file cannot flood or drive a terminal.
std::string in_quotes(std::string_view text, std::size_t limit_bytes = 80);

// The same without the quotes, for text that is already set apart.
std::string printable(std::string_view text, std::size_t limit_bytes = 4096);

// The bytes of the control character with which `text` (not empty) begins, or 0: of what
// drives a terminal (C0, DEL, C1), or makes a line read as something it is not (the
// bidirectional controls).
std::size_t control_length(std::string_view text);

// The candidate a person most likely meant by `name`, or "" when none is near.
// Case does not count.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// Without leading and trailing ASCII white space.
std::string_view trimmed(std::string_view text);

// ASCII letters in lower case; independent of the locale.
std::string lower_case(std::string_view text);

} // namespace piorch::config
