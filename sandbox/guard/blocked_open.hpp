// Opens that wait for somebody else (the other end of a FIFO, a lease): each in a small
// thread of its own, so that they never hold a supervisor thread.
//
// Contract: takes ownership of `pinned` (an O_PATH descriptor) and of the answer. Ends
// without an answer when the caller has died, with a restart when the caller has a signal
// to handle. At most 256 at a time, then EAGAIN: every waiting caller costs 64 KiB here.
#pragma once

#include "sandbox/guard/caller.hpp"

namespace piorch::sandbox::guard {

// `answered` or -errno (and `pinned` is closed either way).
int open_in_own_thread(caller& c, int pinned, int flags, bool close_on_exec);

} // namespace piorch::sandbox::guard
