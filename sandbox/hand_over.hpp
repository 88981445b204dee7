// What `piorch exec` and `piorch-pi` leave to piorch-broker, which they become by exec in the
// same process: the started sandbox with its descriptors, and what to do at the
// end. Travels as JSON in a memfd; descriptors keep their numbers.
#pragma once

#include "config/result.hpp"
#include "config/settings.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/launch.hpp"
#include "sandbox/remote_job.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <termios.h>

namespace piorch::sandbox {

// A command of `piorch exec` that the configuration lets run on the host once somebody has
// approved it (contract, section 9).
struct on_host {
  remote_job job;                    // its arguments, environment and directory
  std::string shown;                 // the complete command, for who approves it
  std::string variables;             // that its command line sets, likewise
  std::string prefix;                // that it begins with; empty: it runs in the sandbox first
  std::uint64_t signal_mask = 0;     // bit n-1: signal n, as the caller had it
  std::uint64_t ignored_signals = 0; // likewise
  std::int64_t input_offset = -1;    // where its input began; -1: it cannot be read again
  // What the sandboxed command has for its stderr, and where that goes.
  ipc::unique_fd stderr_from, stderr_to;
};

struct hand_over {
  pid_t bwrap = -1; // -1: there is no sandbox, the command asks to run on the host
  ipc::unique_fd channel, diagnostics;
  scratch temp, beside;                     // as in launched
  ipc::unique_fd report;                    // of --report, or none
  ipc::unique_fd terminal;                  // whose foreground the command has, or none
  std::optional<termios> terminal_settings; // as the caller had them: read before the start
  std::string workspace;
  std::string temp_dir;                    // the host's, to be swept
  std::string trusted_file;                // that was read, or would be
  std::string command;                     // one line for people and approvals
  std::chrono::milliseconds time_limit{0}; // 0: none
  std::uint64_t begun_us = 0;              // CLOCK_MONOTONIC when piorch started
  bool ask = false;                        // may ask on the terminal
  config::settings settings;               // with what the command line added
  std::optional<on_host> host;             // of exec

  // Of a worker of pi-subagents: its line to the supervisor, and who it is there.
  ipc::unique_fd supervisor;
  std::string capability;
  std::string worker_id;
  std::chrono::seconds heartbeat{0}; // that the supervisor promised; 0: none
};

// Writes it and clears close-on-exec of everything in it. The result is the
// memfd for receive(); `from` has given up its descriptors.
result<ipc::unique_fd> send(hand_over& from);

// What every launched sandbox leaves.
void take(hand_over& next, launched&& from);

// Becomes piorch-broker in this process; `kind` tells it whose broker it is. Returns only when
// that failed: the sandbox has been ended then.
error become_broker(hand_over& next, const std::string& libexec_dir, const char* kind);

// Reads it in the new process image; descriptors are close-on-exec again.
result<hand_over> receive(int fd);

} // namespace piorch::sandbox
