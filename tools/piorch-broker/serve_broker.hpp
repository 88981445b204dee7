// The broker of an orchestrator: one sandbox whose standard streams go over an
// ipc::channel, with credit, so that a consumer that stops stops the command.
// Lives on the main thread.
#pragma once

#include "ipc/unique_fd.hpp"

namespace piorch::broker {

// Takes one job from the channel, runs it, reports, and leaves the process when
// nothing of it is left. The end of the channel ends everything.
[[noreturn]] void run_serve(ipc::unique_fd channel);

} // namespace piorch::broker
