// The numbers of the contract and the bounds we chose, each with its source.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace piorch::limits {

inline constexpr std::size_t live_sessions = 4;                   // contract 4
inline constexpr unsigned session_depth = 3;                      // contract 4
inline constexpr std::size_t protocol_line_bytes = 16u << 20;     // contract 5
inline constexpr std::chrono::seconds approval_timeout{300};      // contract 6, default
inline constexpr std::chrono::seconds approval_timeout_max{3600}; // contract 6
inline constexpr unsigned secret_walk_depth = 4;                  // contract 7
inline constexpr std::uint64_t sandbox_processes = 4096;   // ours: make -j and npm stay far below
inline constexpr std::uint64_t sandbox_memory_mib = 16384; // ours: a big link job fits
inline constexpr std::uint16_t http_proxy_port = 41080;    // ours: above what dev servers use
inline constexpr std::uint16_t socks_proxy_port = 41081;   // ours

} // namespace piorch::limits
