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

// Bounds of the configuration file; all but the first are ours.
inline constexpr std::uint64_t sandbox_processes_max = 4194304; // the kernel's PID_MAX_LIMIT
inline constexpr std::uint64_t sandbox_memory_mib_max = 1ull << 40;
inline constexpr std::chrono::hours session_keep{30 * 24};
inline constexpr std::uint64_t session_keep_days_max = 36500;
inline constexpr std::uint64_t session_keep_count = 200;
inline constexpr std::uint64_t session_keep_count_max = 100000;
inline constexpr std::size_t settings_file_bytes = 1u << 20;
inline constexpr std::size_t settings_file_depth = 8; // the file itself has three levels

// Protocol and channel (ours): what one peer may make us hold.
inline constexpr std::size_t json_depth = 64;                    // deepest message of ours: 6
inline constexpr std::size_t json_values = 200'000;              // an environment has hundreds
inline constexpr std::size_t client_queue_bytes = 1u << 20;      // unread: reading stops
inline constexpr std::size_t client_queue_bytes_max = 64u << 20; // unread: the client is dropped
inline constexpr std::size_t client_requests = 4096;             // in flight per client
inline constexpr std::size_t channel_window_bytes = 256u << 10;  // unread output per broker
inline constexpr std::size_t channel_queue_bytes = 64u << 20;    // unread frames: a job is 32 MiB
inline constexpr std::size_t channel_chunk_bytes = 64u << 10;    // largest data frame
inline constexpr std::chrono::seconds start_timeout{10}; // a started orchestrator answers by then

} // namespace piorch::limits
