// What piorch calls itself. The number comes from CMake's project().
#pragma once

namespace piorch {

inline constexpr const char* version = PIORCH_VERSION;
inline constexpr int protocol_version = 1; // of `serve` (contract, section 5)

} // namespace piorch
