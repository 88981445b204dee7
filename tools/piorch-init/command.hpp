// Starts the command with everything else closed, and watches over it.
#pragma once

#include "tools/piorch-init/job.hpp"
#include "tools/piorch-init/link.hpp"

#include <sys/types.h>

namespace piorch::init {

// Forks and executes; returns once the command's program really runs.
pid_t start_command(const job& j, const link& to_broker);

// Reaps, delivers signals, reports. Ends the process with the command.
[[noreturn]] void watch_command(const job& j, const link& to_broker, pid_t command);

} // namespace piorch::init
