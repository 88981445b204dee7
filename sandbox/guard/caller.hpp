// The thread whose call is being served: its memory, directories, umask,
// signals and terminal, read through the supervisor's own /proc.
//
// Contract: everything is fetched by thread id, so it is only meaningful if alive()
// holds *after* it was fetched; nothing is done to the file system before that.
// Memory is copied once and never looked at again (the attack: another thread
// rewrites the path between check and use). One object per call, one thread.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/kernel.hpp"

#include <climits>
#include <sys/types.h>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

using path_buffer = char[PATH_MAX];

class caller {
public:
  // `root`: the root directory of every caller, if they can have no other; else negative.
  caller(int listener, int proc, const seccomp_notif& call, int root = -1)
      : listener_(listener), proc_(proc), shared_root_(root), id_(call.id),
        tid_(static_cast<pid_t>(call.pid)) {}

  std::uint64_t id() const { return id_; }
  pid_t tid() const { return tid_; }
  int listener() const { return listener_; }
  int proc() const { return proc_; }

  // O_PATH descriptors, kept until this object goes; -errno.
  int root();
  int directory(); // working directory
  // What descriptor n of the caller is: a new O_PATH descriptor, or -errno.
  int descriptor(int n) const;

  // The call still waits: what was fetched belongs to it.
  bool alive();

  int copy(std::uint64_t address, void* to, std::size_t bytes) const; // 0 or -EFAULT
  int copy_path(std::uint64_t address, path_buffer& to) const;        // 0, -EFAULT, -ENAMETOOLONG

  int process() const;        // thread group id, -errno
  int file_mode_mask() const; // umask, -ESRCH
  bool has_one_thread() const;
  bool signal_waits() const; // one that would interrupt it
  // Its controlling terminal: the device number, 0 = none; and whether that of the session which
  // the sandbox was started in, the supervisor's as well. By the number alone they cannot be told:
  // the sandbox has pseudo terminals of its own, which begin at 0 again.
  struct terminal_of {
    dev_t device = 0;
    bool outside = false;
  };
  terminal_of terminal() const;

private:
  long text(const char* name, char* to, std::size_t bytes) const;

  int listener_;
  int proc_;
  int shared_root_;
  std::uint64_t id_;
  pid_t tid_;
  unique_fd root_, directory_;
  bool alive_ = false;
};

} // namespace piorch::sandbox::guard
