// What the create guard uses of the kernel and what older headers lack, as thin
// functions that return a value or -errno. No state, any thread.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV // Linux 5.19
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS // Linux 6.6
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

namespace piorch::sandbox::guard {

// -errno for a call that failed, its value otherwise.
template <class T> int status(T value) { return value < 0 ? -errno : static_cast<int>(value); }

inline int open_path(int dir, const char* name, int more = 0) {
  return status(::openat(dir, name, O_PATH | O_CLOEXEC | more));
}

inline int open_how_at(int dir, const char* name, std::uint64_t flags, std::uint64_t mode,
                       std::uint64_t resolve) {
  ::open_how how{};
  how.flags = flags;
  how.mode = mode;
  how.resolve = resolve;
  return status(::syscall(SYS_openat2, dir, name, &how, sizeof how));
}

// The identity of a directory entry's holder. Stable while somebody holds it open.
struct inode {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const inode& a, const inode& b) {
    return a.device == b.device && a.number == b.number;
  }
};
inline inode inode_of(const struct stat& s) { return {s.st_dev, s.st_ino}; }

// False also when nobody can tell.
inline bool same_inode(int one, int other) {
  struct stat a {
  }, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && inode_of(a) == inode_of(b);
}

// Of its mount: 1, 0 or -errno. What is safe when nobody can tell is for the caller to say.
inline int read_only(int directory) {
  struct statvfs s {};
  return ::fstatvfs(directory, &s) != 0 ? -errno : (s.f_flag & ST_RDONLY) != 0;
}

} // namespace piorch::sandbox::guard
