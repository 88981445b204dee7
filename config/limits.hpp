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
inline constexpr std::size_t protected_secrets =
    2000;                                        // ours: each costs a mount and a rule, 0.1 ms
inline constexpr unsigned secret_walk_depth = 4; // contract 7
inline constexpr std::uint64_t sandbox_processes = 4096;   // ours: make -j and npm stay far below
inline constexpr std::uint64_t sandbox_memory_mib = 16384; // ours: a big link job fits
inline constexpr std::uint16_t http_proxy_port = 41080;    // ours: above what dev servers use
inline constexpr std::uint16_t socks_proxy_port = 41081;   // ours
constexpr bool is_proxy_port(std::uint64_t port) {
  return port == http_proxy_port || port == socks_proxy_port;
}

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
inline constexpr std::size_t list_watchers = 256;              // that wait for a change of one list
inline constexpr std::size_t follower_window_bytes = 1u << 20; // unread events per follower
inline constexpr std::size_t channel_window_bytes = 256u << 10; // unread output per broker
inline constexpr std::size_t channel_queue_bytes = 64u << 20;   // unread frames: a job is 32 MiB
inline constexpr std::size_t channel_chunk_bytes = 64u << 10;   // largest data frame
inline constexpr std::chrono::seconds start_timeout{10}; // a started orchestrator answers by then

// Subagent sessions (ours; docs/protocol.md says them to others).
inline constexpr std::size_t worker_line_bytes = 16u << 20; // a 5 MB answer is one line, escaped
inline constexpr std::size_t worker_json_depth = 64;        // Pi nests about 10 deep
inline constexpr std::size_t worker_json_values = 400'000;  // bounds what one line costs in memory
inline constexpr std::size_t session_text_bytes = 7u << 20; // an answer, counted as JSON writes it
inline constexpr std::size_t status_text_bytes = 4u << 10;  // an answer in a list of sessions
inline constexpr std::size_t session_task_bytes = 7u << 20; // a task, likewise; Pi echoes it
inline constexpr std::size_t session_queued_tasks = 256;    // follow-ups that wait in one session
inline constexpr std::size_t session_queued_bytes = 32u << 20;    // of all of them
inline constexpr std::size_t tool_output_bytes = 16u << 10;       // a tool's output in one event
inline constexpr std::size_t stderr_tail_bytes = 64u << 10;       // kept of a worker's stderr
inline constexpr std::size_t stderr_shown_bytes = 2u << 10;       // of it in an error
inline constexpr std::size_t delta_event_bytes = 16u << 10;       // streamed text in one event
inline constexpr std::chrono::milliseconds delta_event_delay{50}; // text is gathered so long
inline constexpr std::chrono::seconds worker_start_timeout{60};   // Pi needs 0.5 s, alone
inline constexpr std::chrono::seconds abort_grace{10}; // Pi answers in ms; then the worker is ended
inline constexpr std::size_t session_name_bytes = 64;  //
inline constexpr std::size_t journal_bytes = 64u << 20;     // events of one session on disk
inline constexpr std::size_t event_buffer_bytes = 1u << 20; // the newest, in memory
inline constexpr std::size_t event_batch_bytes = 64u << 10; // written to a follower at a time

} // namespace piorch::limits
