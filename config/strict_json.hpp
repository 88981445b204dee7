// JSON for files that decide about isolation: what a lenient reader lets pass
// (a key given twice, endless nesting, a byte order mark) is an error here.
// Pure; any thread.
#pragma once

#include "config/result.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace piorch::config {

// The document, or failure::configuration_invalid with one line that starts
// with the place ("line 3, column 7: …"). `depth` bounds nested arrays and objects.
result<nlohmann::json> parse_strict_json(std::string_view text, std::size_t depth);

} // namespace piorch::config
