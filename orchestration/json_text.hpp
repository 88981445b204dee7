// JSON as text, with the bounds a hostile or broken writer makes necessary.
// Pure; any thread; nothing here throws.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace piorch::orchestration {

// One line without its LF. Bytes that are not UTF-8 become U+FFFD.
std::string dump(const nlohmann::json& j);

// Nothing when it is not JSON, nested deeper than `depth` or has more than
// `values` values: a few MiB of "[[[[" or "0,0,0" would cost a hundred times
// their size once parsed.
std::optional<nlohmann::json> parse(std::string_view text, std::size_t depth, std::size_t values);

// Members of an object, tolerant: a missing key or a wrong type is the default.
std::string string_at(const nlohmann::json& j, const char* key);
bool bool_at(const nlohmann::json& j, const char* key);
double number_at(const nlohmann::json& j, const char* key); // finite and >= 0, else 0
std::uint64_t count_at(const nlohmann::json& j, const char* key);
const nlohmann::json& member(const nlohmann::json& j, const char* key); // null when absent

// How many bytes `text` takes inside a JSON string as dump() writes it.
std::size_t escaped_bytes(std::string_view text) noexcept;

// `text` when its escaped form fits into `limit` bytes, else its beginning (cut
// between characters) and a note that says how much is missing.
std::string bounded(std::string_view text, std::size_t limit);

// Likewise, but the end is kept.
std::string bounded_tail(std::string_view text, std::size_t limit);

} // namespace piorch::orchestration
