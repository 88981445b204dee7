// The three answers a waiting call can get. Each is final; a caller that has died
// meanwhile, or was taken away by a signal, is no error. Any thread.
#pragma once

#include "sandbox/guard/kernel.hpp"

namespace piorch::sandbox::guard {

// An operation's outcome: 0 or -errno for the caller, or `answered` when the
// operation itself has replied.
inline constexpr int answered = 1;
// As `answered`, but nobody was there any more to get it.
inline constexpr int unheard = 2;

// The kernel's own number: a pending signal turns it into EINTR or a restart,
// exactly as for a call it had served itself.
inline constexpr int restart_call = -512;

bool reply_status(int listener, std::uint64_t id, int outcome); // false: unheard

// Lets the kernel carry out the call. Only for calls whose arguments are all
// registers: memory could have changed since it was looked at.
void reply_continue(int listener, std::uint64_t id);

// Puts a copy of fd into the caller and returns its number there; the caller's limit
// gives EMFILE. Returns `answered`, `unheard`, or -errno for reply_status. Does not close fd.
int reply_descriptor(int listener, std::uint64_t id, int fd, bool close_on_exec);

// The same, but the call goes on only with reply_status(number), so that ours can be closed before.
// Returns the number there, or -errno: ENOENT or ESRCH when nobody is there any more.
int add_descriptor(int listener, std::uint64_t id, int fd, bool close_on_exec);

} // namespace piorch::sandbox::guard
