// Ways out that mounts leave open: an inherited descriptor of a file outside, which procfs
// would open once more for writing, and FIFOs, which a read-only mount does not stop.
//
// Any thread.
#pragma once

#include "sandbox/guard/caller.hpp"

namespace piorch::sandbox::guard {

// Is this file (any descriptor, also O_PATH) on a mount of another mount namespace, or on
// none at all? Also yes when nobody can tell. Memory files count as inside.
bool is_outside(int proc, int fd);

// Does the caller hold that very file open for writing, as descriptor `name`? Then opening
// it once more gives it nothing.
bool is_open_for_writing(caller& c, const char* name, int file);

// 0, or -EROFS for a FIFO of a read-only mount that is to be opened with these flags.
int check_fifo(int fd, int flags);

} // namespace piorch::sandbox::guard
