#include "sandbox/guard/outside.hpp"

#include "sandbox/guard/walk.hpp"

#include <cstdlib>
#include <sys/statvfs.h>

#ifndef PIDFD_THREAD // Linux 6.9
#define PIDFD_THREAD O_EXCL
#endif

namespace piorch::sandbox::guard {

namespace {

// Is it the first number of a line of mountinfo?
bool has_mount(int proc, std::uint64_t wanted) {
  unique_fd list(::openat(proc, "self/mountinfo", O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  std::uint64_t number = 0;
  bool in_number = true;
  for (ssize_t n; list && (n = ::read(list.get(), buffer, sizeof buffer)) > 0;)
    for (const char* at = buffer; at < buffer + n; ++at) {
      if (*at == '\n') {
        number = 0;
        in_number = true;
      } else if (in_number && *at >= '0' && *at <= '9') {
        number = 10 * number + static_cast<unsigned>(*at - '0');
      } else if (in_number) {
        if (number == wanted)
          return true;
        in_number = false;
      }
    }
  return false;
}

} // namespace

bool is_outside(int proc, int fd) {
  struct statx s {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &s) != 0 || !(s.stx_mask & STATX_MNT_ID))
    return true;
  if (has_mount(proc, s.stx_mnt_id))
    return false;
  // memfd_create: on a mount of the kernel's own, and without a place in any directory.
  return path_of(proc, fd).rfind("/memfd:", 0) != 0;
}

bool is_open_for_writing(caller& c, const char* name, int file) {
  char* end = nullptr;
  const long number = std::strtol(name, &end, 10);
  if (end == name || *end || number < 0 || number > 1 << 30)
    return false;
  long handle = ::syscall(SYS_pidfd_open, c.tid(), PIDFD_THREAD);
  if (handle < 0 && errno == EINVAL)
    handle = ::syscall(SYS_pidfd_open, c.tid(), 0);
  unique_fd process(static_cast<int>(handle));
  if (!process)
    return false;
  unique_fd held(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
  struct stat a {
  }, b{};
  if (!held || !c.alive() || ::fstat(held.get(), &a) != 0 || ::fstat(file, &b) != 0)
    return false;
  const int flags = ::fcntl(held.get(), F_GETFL);
  return inode_of(a) == inode_of(b) && flags >= 0 && !(flags & O_PATH) &&
         (flags & O_ACCMODE) != O_RDONLY;
}

int check_fifo(int fd, int flags) {
  struct stat s {};
  struct statvfs mount {};
  if (::fstat(fd, &s) != 0)
    return -errno;
  if (!S_ISFIFO(s.st_mode) || (flags & O_ACCMODE) == O_RDONLY)
    return 0;
  if (::fstatvfs(fd, &mount) != 0)
    return -errno;
  return mount.f_flag & ST_RDONLY ? -EROFS : 0;
}

} // namespace piorch::sandbox::guard
