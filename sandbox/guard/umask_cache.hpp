// What a supervisor thread remembers of callers' umasks: reading one from /proc
// costs 13 microseconds.
//
// Contract: an entry is valid for the same living process (pidfd, so a reused number is
// noticed) until anybody calls umask, which is notified. Only processes of one thread are
// remembered: another thread's umask could take effect after its notification, when
// the new value is not there to be read yet. One thread.
#pragma once

#include "sandbox/guard/caller.hpp"

namespace piorch::sandbox::guard {

struct umask_cache {
  static constexpr std::size_t size = 64;
  struct entry {
    pid_t process = 0;
    unique_fd handle;
    std::uint64_t changes = 0;
    mode_t mask = 0;
  };
  entry entries[size];

  // The mask, or -ESRCH.
  int of(const caller& c, std::uint64_t changes);
};

} // namespace piorch::sandbox::guard
