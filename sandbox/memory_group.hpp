// A memory cgroup for one process tree, where this user may make one (cgroup v1
// or v2). Moving a process takes the kernel some 12 ms when it has not been done
// for a while, so a broker does it for commands that run on, not at their start.
// Asio thread only.
#pragma once

#include "ipc/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace piorch::sandbox {

class memory_group {
public:
  memory_group() = default;
  memory_group(memory_group&&) noexcept;
  memory_group& operator=(memory_group&&) noexcept;
  ~memory_group(); // removes the group; its processes must be gone

  // Limits `init` and everything below it. An empty group (`*this` false) when
  // the machine does not let us; the limits of piorch-init hold all the same.
  static memory_group place(pid_t init, std::uint64_t limit_bytes);

  explicit operator bool() const { return !path_.empty(); }

  // True once the kernel has ended a process because the group was at its limit.
  bool ended_something() const;

private:
  std::string path_;
  ipc::unique_fd lock_; // as long as its owner lives, nobody else removes it
};

// The directory in which this process could make a memory cgroup; "": none.
std::string writable_memory_parent();

// Removes groups that processes of this user left which are gone. Each takes the kernel a
// moment, so not before a command has started.
void sweep_memory_groups() noexcept;

} // namespace piorch::sandbox
