// What `piorch exec` leaves to piorch-broker, which it becomes by exec in the
// same process: the started sandbox with its descriptors, and what to do at the
// end. Travels as JSON in a memfd; descriptors keep their numbers.
#pragma once

#include "config/result.hpp"
#include "config/settings.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/launch.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace piorch::sandbox {

struct hand_over {
  pid_t bwrap = -1;
  ipc::unique_fd channel, diagnostics;
  scratch temp;
  ipc::unique_fd report;   // of --report, or none
  ipc::unique_fd terminal; // whose foreground the command has, or none
  std::string workspace;
  std::string temp_dir;                    // the host's, to be swept
  std::string trusted_file;                // that was read, or would be
  std::string command;                     // one line for people and approvals
  std::chrono::milliseconds time_limit{0}; // 0: none
  std::uint64_t begun_us = 0;              // CLOCK_MONOTONIC when piorch started
  bool ask = false;                        // may ask on the terminal
  config::settings settings;               // with what the command line added
};

// Writes it and clears close-on-exec of everything in it. The result is the
// memfd for receive(); `from` has given up its descriptors.
result<ipc::unique_fd> send(hand_over& from);

// Reads it in the new process image; descriptors are close-on-exec again.
result<hand_over> receive(int fd);

} // namespace piorch::sandbox
