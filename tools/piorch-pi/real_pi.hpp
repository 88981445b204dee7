// The Pi that piorch-pi stands for, and what of the environment says so. Main thread.
#pragma once

#include "config/result.hpp"
#include "sandbox/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace piorch::pi {

// Set by piorch's Pi package; those of version 1 of the protocol of external workers.
inline constexpr const char* binary_variable = "PI_SANDBOX_EXTERNAL_REAL_PI_BINARY";
inline constexpr const char* prefix_variable = "PI_SANDBOX_EXTERNAL_REAL_PI_PREFIX";
inline constexpr const char* readable_variable = "PI_SANDBOX_EXTERNAL_ALLOW_READ";
inline constexpr const char* socket_variable = "PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET";
inline constexpr const char* capability_variable = "PI_SANDBOX_EXTERNAL_SUPERVISOR_CAPABILITY";

// The program and its first arguments: absolute, there, and not piorch-pi itself.
// failure::usage, with the remedy.
result<std::vector<std::string>> find_real_pi(const sandbox::environment& given);

// exec. Returns only when that failed.
error become(const std::vector<std::string>& real, const std::vector<std::string>& arguments);

// What os.tmpdir() is for the caller, resolved: pi-subagents computes paths from it.
result<std::string> temp_dir_of(const sandbox::environment& given);

// The parts that are not empty.
std::vector<std::string> list(std::string_view text, char separator);

} // namespace piorch::pi
