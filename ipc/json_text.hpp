// Reading JSON that a stranger wrote: strict, bounded in depth and in the number
// of values, no key twice, valid UTF-8 only. And writing JSON as one line.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace piorch::ipc {

enum class json_fault {
  none,
  syntax,    // not JSON, or not UTF-8
  too_deep,  // more nesting than limits::json_depth
  too_many,  // more values than limits::json_values
  duplicate, // a key occurs twice in one object
};

struct json_outcome {
  json_fault fault = json_fault::none;
  std::string text; // a sentence for the sender; empty without a fault
};

// Parses into `out`, which is null after a fault. Never throws on any input.
json_outcome parse_json(std::string_view text, nlohmann::json& out);

// One line without LF; bytes that are not UTF-8 become U+FFFD.
std::string write_json(const nlohmann::json& value);

// A JSON string literal with its quotes, appended.
void append_json_string(std::string& out, std::string_view text);

} // namespace piorch::ipc
