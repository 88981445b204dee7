// The broker of a worker of pi-subagents (piorch-pi): one sandbox whose standard streams are the
// caller's own, and whose questions go to the supervisor in the orchestrator. Lives on the main
// thread.
#pragma once

#include "sandbox/hand_over.hpp"

namespace piorch::broker {

// Runs until everything is cleaned up and leaves the process as Pi left: with its status, or by
// the signal that ended it.
[[noreturn]] void run_worker(sandbox::hand_over job);

} // namespace piorch::broker
