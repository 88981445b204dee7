#include "sandbox/guard/memory_file.hpp"

#include "ipc/unique_fd.hpp"

#include <cstdio>
#include <sys/mman.h>

namespace piorch::sandbox::guard {

namespace {
constexpr unsigned never_run = 8; // MFD_NOEXEC_SEAL, Linux 6.3; a machine can demand it
}

int memory_file(int flags, mode_t mode) {
  int number = ::memfd_create("git", MFD_CLOEXEC | never_run);
  if (number < 0 && errno == EINVAL)
    number = ::memfd_create("git", MFD_CLOEXEC);
  const ipc::unique_fd made(number);
  if (!made)
    return -errno;
  // Opened once more, for the flags and because closing the first one is not told (inotify).
  char name[40];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", made.get());
  const int fd = status(::open(name, flags));
  if (fd >= 0)
    ::fchmod(fd, mode);
  return fd;
}

} // namespace piorch::sandbox::guard
