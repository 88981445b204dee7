// A file of a caller's that has no place anywhere, for where the directory's own file system makes
// none without a name (NFS, 9p, FUSE) or cannot tell who still writes one (writers_of).
//
// What differs for the caller: the device and the number that fstat tells, the name behind
// /proc/self/fd, and it cannot be linked to a name. Any thread.
#pragma once

#include "sandbox/guard/kernel.hpp"

namespace piorch::sandbox::guard {

// Is this what open(O_TMPFILE) says there?
inline bool makes_no_nameless_files(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == ENOSYS;
}

// A descriptor of an empty one, opened with `flags`, or -errno.
int memory_file(int flags, mode_t mode);

} // namespace piorch::sandbox::guard
