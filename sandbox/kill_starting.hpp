// Ends a bubblewrap that may not have brought up its sandbox yet.
#pragma once

#include <sys/types.h>

namespace piorch::sandbox {

// Kills a bubblewrap of ours and its child, and does not reap it. Its child begins by waiting for
// a word of bubblewrap's and is bound to its life only later: killed alone, bubblewrap leaves
// a process that waits for ever. Any thread; waits, a tenth of a second at most, until
// bubblewrap stands still.
void kill_starting(pid_t bwrap);

} // namespace piorch::sandbox
