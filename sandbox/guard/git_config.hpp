// Reads the text of a Git configuration file as strictly as Git does or more so: every
// key that Git would see is listed, or the text is rejected. Pure; any thread.
//
// Attack closed here: a parser that sees fewer keys than Git (a key behind the
// section header, a continuation, a quoted line end, the old dotted form of
// sections, a byte order mark).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::guard {

struct config_entry {
  std::string section;    // lower case
  std::string subsection; // as written; lower case in the old [section.sub] form
  std::string key;        // lower case
  std::string value;      // unquoted; empty for a key without "="
  bool has_value = false;

  // section.subsection.key, for people
  std::string name() const;
};

inline constexpr std::size_t config_bytes_at_most = 1u << 20;

// False when the text is not plainly a configuration; `out` is then meaningless.
bool parse_config(std::string_view text, std::vector<config_entry>& out);

} // namespace piorch::sandbox::guard
