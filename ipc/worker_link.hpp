// What a worker's wrapper (piorch-pi) and its supervisor (the orchestrator) say to each
// other: version 1 of the protocol of external workers, one JSON object a line, and what
// ours adds to it (marked +). docs/pi-subagents.md is its prose. Pure; any thread.
//
//   wrapper -> supervisor   register, network, unregister
//   supervisor -> wrapper   a reply with the frame's id, or {"action":"deny"} without one
//                           when the frame is none; + heartbeats while a reply takes long
//
// Fields that are not known are passed over: that is how version 1 grows.
#pragma once

#include "config/patterns.hpp"
#include "config/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::ipc {

inline constexpr std::size_t worker_frame_bytes = 16u << 10; // a line, LF not counted
inline constexpr std::size_t capability_digits = 64;         // 32 random bytes in hex

struct worker_frame {
  enum class kind { register_worker, network, unregister };
  kind what = kind::register_worker;
  std::string capability;
  std::string id; // 1 to 128 bytes
  std::string worker_id;
  std::string cwd; // absolute, at most 4096 bytes

  // register
  bool lease = false; // + the worker is gone when this connection ends
  std::string agent;  // + for people; may be empty
  std::string run;    // + pi-subagents' run id; may be empty
  std::string parent; // + the worker inside whose sandbox this one runs; empty: none

  // network
  std::string host; // 1 to 253 bytes
  std::uint16_t port = 0;

  // unregister: + how it ended, if that is known
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string reason; // for people; may be empty
};

// Anything but a frame of version 1 is failure::usage with a word about why. Whether the
// capability is the right one is not looked at.
result<worker_frame> read_worker_frame(std::string_view line);
std::string write(const worker_frame& frame);

// 32 bytes of the kernel's randomness. failure::fault when there are none.
result<std::string> new_capability();
// Takes as long for a wrong one as for the right one.
bool is_same_capability(std::string_view a, std::string_view b);

// The domains of a register reply.
struct worker_policy {
  std::vector<config::domain_pattern> allowed, denied;
  bool understood = true; // false: there was none, or a malformed one; everything is denied
};

struct worker_reply {
  enum class kind { answer, heartbeat };
  kind what = kind::answer;
  std::string id; // empty: the frame was not understood
  bool allow = false;
  worker_policy policy;              // of a register that was allowed
  std::chrono::seconds heartbeat{0}; // + likewise: how often one comes while a reply takes long
  std::string source;                // + of a network decision: whose it is
  std::string reason;                // + of a deny, for people; may be empty
};

// A supervisor is a peer of our own user, but not of our own build. failure::fault.
result<worker_reply> read_worker_reply(std::string_view line);
std::string write_register_reply(const std::string& id, const worker_policy& policy,
                                 std::chrono::seconds heartbeat);
std::string write_answer(const std::string& id, bool allow, const std::string& source,
                         const std::string& reason);
std::string write_heartbeat();

} // namespace piorch::ipc
