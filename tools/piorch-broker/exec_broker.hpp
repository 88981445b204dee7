// The broker of `piorch exec`: one sandbox in the foreground of a terminal or a
// script. Lives on the main thread; the actors decide, this carries out.
#pragma once

#include "sandbox/hand_over.hpp"

namespace piorch::broker {

// Runs until everything is cleaned up and leaves the process with the command's
// status.
[[noreturn]] void run_exec(sandbox::hand_over job);

} // namespace piorch::broker
