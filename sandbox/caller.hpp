// What a program that becomes a broker takes over from its caller for the command: signals and
// standard streams. Before any thread exists.
#pragma once

#include <csignal>
#include <cstdint>

namespace piorch::sandbox {

// CLOCK_MONOTONIC.
std::uint64_t monotonic_us();

// The caller's signal state; afterwards all signals are blocked and children can be waited for.
struct caller_signals {
  sigset_t mask;
  std::uint64_t ignored = 0; // bit n-1: signal n
};
caller_signals block_signals();
std::uint64_t bits_of(const sigset_t& set); // bit n-1: signal n

// Ends this process as another one ended: by the same signal, without a core file, or with the
// same status.
[[noreturn]] void leave_like(int exit_code, int signal);

// An open directory would be a way around every mount: openat(0, "../…").
bool standard_stream_is_directory();

} // namespace piorch::sandbox
