// Starts one process with exactly the descriptors that are named, by
// posix_spawn (docs of Boost.Process 1.81 in facts: it leaks descriptors).
// Only from a thread that lives as long as the process: bubblewrap's
// die-with-parent follows the thread.
#pragma once

#include "config/result.hpp"

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace piorch::sandbox {

struct spawn_request {
  std::string program;                  // absolute; nothing is looked up
  std::vector<std::string> arguments;   // with argv[0]
  std::vector<std::string> environment; // empty: an empty environment
  // Descriptor i of the child is fds[i] of this process; -1: /dev/null.
  // Everything beyond is closed. All of ours should be close-on-exec.
  std::vector<int> fds;
  bool new_session = false;
  sigset_t blocked{}; // the child's mask
};

result<pid_t> spawn(const spawn_request& request);

} // namespace piorch::sandbox
