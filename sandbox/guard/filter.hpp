// The seccomp filter that makes every call which can make a name, or open an
// existing file for writing, a notification to the supervisor.
//
// Contract: joined to a deny filter in one program (every call passes one filter, not two):
// what that one allows is looked at here. Native ABI only: any other architecture is
// killed, x32 gets ENOSYS. Reading opens, stat, unlink and everything else pass without a
// notification.
//
// Attacks closed here: openat2 and io_uring (paths the filter cannot see),
// file system ioctls that make names, open_by_handle_at (a write open without a
// path). O_PATH is let through: the kernel ignores O_CREAT with it and such a
// descriptor cannot be handed over. O_TMPFILE is let through: its inode has no name
// until linkat, which is notified. umask is notified because its argument
// is a register: the call may safely continue and the supervisor's cache is told.
#pragma once

#include <linux/filter.h>
#include <vector>

namespace piorch::sandbox::guard {

std::vector<sock_filter> creating_calls_filter();

// `first` with this filter behind it: where `first` would allow a call, it goes on here.
// Empty when the two are too long together.
std::vector<sock_filter> joined_filter(const sock_fprog& first);

// Installs it for the calling thread and returns the listener, or -errno: EBUSY
// when an outer runtime already listens, EINVAL before Linux 5.14. Needs
// no_new_privs. Everything the caller creates afterwards waits for a supervisor.
// `interruptible` (before Linux 5.19): signals take calls away from the supervisor.
int install_filter(const sock_fprog& first, bool& interruptible);

} // namespace piorch::sandbox::guard
