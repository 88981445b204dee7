// Exit statuses of the command line (contract, section 3).
#pragma once

#include "config/result.hpp"

namespace piorch::cli {

enum exit_status : int {
  exit_done = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_unknown = 3,         // no such session or approval
  exit_no_orchestrator = 4, // none could be reached or started
  exit_limit = 5,

  // Of `exec` only, whose other statuses are the command's own.
  exit_timed_out = 124,
  exit_not_run = 125, // piorch itself could not; nothing was executed
  exit_not_executable = 126,
  exit_not_found = 127,
};

// What a command other than `exec` ends with for a failure.
constexpr int status_of(failure code) {
  switch (code) {
    case failure::usage:
      return exit_usage;
    case failure::unknown_session:
    case failure::unknown_approval:
      return exit_unknown;
    case failure::unreachable:
      return exit_no_orchestrator;
    case failure::limit_reached:
      return exit_limit;
    default:
      return exit_failed;
  }
}

} // namespace piorch::cli
