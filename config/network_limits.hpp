// The bounds of a sandbox's network, ours unless a section of the contract is
// named. Apart from limits.hpp because only sandbox/network needs them.
#pragma once

#include "config/limits.hpp"

namespace piorch::limits {

inline constexpr std::chrono::seconds remembered_denial{60}; // contract 8: "a short while"
inline constexpr std::size_t remembered_denials = 1024;
inline constexpr std::size_t network_events = 1000;       // distinct entries of a report
inline constexpr std::size_t proxy_connections = 2048;    // per sandbox
inline constexpr std::size_t http_head_bytes = 64u << 10; // cookies and tokens of real clients fit
inline constexpr std::size_t early_data_bytes = 16u << 10;
inline constexpr int http_interim_answers = 16; // in one exchange: "100 Continue", early hints
inline constexpr std::chrono::seconds http_head_time{30};
inline constexpr std::chrono::seconds http_keep_alive_time{300};
inline constexpr std::chrono::seconds socks_handshake_time{30};
inline constexpr std::chrono::seconds connect_time{30};
inline constexpr std::chrono::milliseconds connect_stagger{250}; // RFC 8305, section 8
inline constexpr std::size_t connect_addresses = 8;
inline constexpr std::chrono::seconds half_closed_time{600}; // without a byte, one side gone
// What ended programs have sent and is not with the servers' side yet: the end waits this
// long for it in all, and this long without a byte.
inline constexpr std::chrono::milliseconds last_bytes_time{1000};
inline constexpr std::chrono::milliseconds last_bytes_stall{500};
inline constexpr int last_bytes_buffer = 208 << 10; // SO_SNDBUF, what Linux lets everybody have
// A killed client looks like one that half-closed until its kernel forgets it (tcp_fin_timeout,
// 60 s) and answers a probe with a reset.
inline constexpr std::chrono::seconds half_closed_probe_after{75};
inline constexpr std::chrono::seconds half_closed_probe_again{15};
inline constexpr int half_closed_probes = 2;
inline constexpr std::chrono::seconds dns_time{15};       // a whole look-up
inline constexpr std::chrono::seconds dns_cache_time{30}; // or the TTL if that is less
inline constexpr std::size_t dns_cache_entries = 256;
inline constexpr std::size_t dns_lookups = 512; // in flight, one socket each
inline constexpr std::size_t relay_buffer_bytes = 64u << 10;
inline constexpr std::size_t relay_bulk_bytes = 1u << 20;       // a step of a connection in a hurry
inline constexpr std::size_t relay_bulk_buffers = 16;           // lent at a time
inline constexpr std::size_t relay_patience_bytes = 384u << 10; // what such a connection waits for
inline constexpr std::chrono::milliseconds relay_patience{2};   // and how long at most
// Where workers of pi-subagents ask for a seat, inside their lead's sandbox.
inline constexpr std::uint16_t nested_workers_port = 41082;
inline constexpr std::size_t pending_approvals = 64; // per sandbox; the next is denied unasked

} // namespace piorch::limits
