// What the report says of a file that Git believes, when its text is not put in place. Pure; any
// thread.
#pragma once

#include "sandbox/guard/state_file.hpp"

#include <string>

namespace piorch::sandbox::guard {

inline constexpr const char* too_long = "too long";
inline constexpr const char* lock_in_the_way = "not written, its lock file is in the way";

// "git index: " and why. `none` is a file with settings.
std::string refusal(state_file kind, const std::string& why);

} // namespace piorch::sandbox::guard
