// Whether this process runs in a sandbox of piorch. Any thread.
#pragma once

namespace piorch::sandbox {

// Not by a variable alone, which anybody may set: PID 1 of this PID namespace is piorch-init, and
// this process is behind the system call filter, which lets no Unix socket be made.
bool is_inside();

} // namespace piorch::sandbox
