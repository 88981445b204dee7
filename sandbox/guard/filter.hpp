// The seccomp filter that makes every call which can make a name, or open an
// existing file for writing, a notification to the supervisor.
//
// Contract: stacks with a deny filter (the most restrictive action of all
// filters wins and an errno outranks a notification). Native ABI only: any
// other architecture is killed, x32 gets ENOSYS. Reading opens, stat, unlink and
// everything else pass without a notification.
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

// Installs it for the calling thread and returns the listener, or -errno: EBUSY
// when an outer runtime already listens, EINVAL before Linux 5.19. Needs
// no_new_privs. Everything the caller creates afterwards waits for a supervisor.
int install_filter();

} // namespace piorch::sandbox::guard
