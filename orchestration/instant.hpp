// Points in time as the documents of piorch write them: UTC, milliseconds.
// Pure; the caller brings the time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace piorch::orchestration {

using instant = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

// "2026-11-29T22:31:39.042Z"; years outside 1970..9999 are clamped.
std::string to_text(instant t);

// Exactly that form, or nothing.
std::optional<instant> instant_from(std::string_view text);

} // namespace piorch::orchestration
