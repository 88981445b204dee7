#include "sandbox/guard/caller.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/sysmacros.h>
#include <sys/uio.h>

namespace piorch::sandbox::guard {

int caller::root() {
  if (shared_root_ >= 0)
    return shared_root_;
  if (!root_) {
    char name[40];
    std::snprintf(name, sizeof name, "%d/root", tid_);
    int fd = open_path(proc_, name, O_DIRECTORY);
    if (fd < 0)
      return fd;
    root_.reset(fd);
  }
  return root_.get();
}

int caller::directory() {
  if (!directory_) {
    char name[40];
    std::snprintf(name, sizeof name, "%d/cwd", tid_);
    int fd = open_path(proc_, name, O_DIRECTORY);
    if (fd < 0)
      return fd;
    directory_.reset(fd);
  }
  return directory_.get();
}

int caller::descriptor(int n) const {
  if (n < 0)
    return -EBADF;
  char name[48];
  std::snprintf(name, sizeof name, "%d/fd/%d", tid_, n);
  int fd = open_path(proc_, name);
  return fd == -ENOENT ? -EBADF : fd;
}

bool caller::alive() {
  if (!alive_)
    alive_ = ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &id_) == 0;
  return alive_;
}

int caller::copy(std::uint64_t address, void* to, std::size_t bytes) const {
  iovec here{to, bytes};
  iovec there{reinterpret_cast<void*>(address), bytes};
  auto got = ::process_vm_readv(tid_, &here, 1, &there, 1, 0);
  return got == static_cast<ssize_t>(bytes) ? 0 : -EFAULT;
}

int caller::copy_path(std::uint64_t address, path_buffer& to) const {
  constexpr std::size_t page = 4096, most_paths = 256;
  std::size_t got = 0;
  while (got < sizeof to) {
    // Never across a page that may not be there while the string may end before it.
    std::size_t want = page - ((address + got) & (page - 1));
    if (got == 0)
      want = std::min(want, most_paths);
    want = std::min(want, sizeof to - got);
    iovec here{to + got, want};
    iovec there{reinterpret_cast<void*>(address + got), want};
    auto n = ::process_vm_readv(tid_, &here, 1, &there, 1, 0);
    if (n <= 0)
      return -EFAULT;
    if (std::memchr(to + got, 0, static_cast<std::size_t>(n)))
      return 0;
    got += static_cast<std::size_t>(n);
  }
  return -ENAMETOOLONG;
}

long caller::text(const char* name, char* to, std::size_t bytes) const {
  char path[48];
  std::snprintf(path, sizeof path, "%d/%s", tid_, name);
  unique_fd file(::openat(proc_, path, O_RDONLY | O_CLOEXEC));
  auto n = file ? ::read(file.get(), to, bytes - 1) : -1;
  to[std::max<ssize_t>(n, 0)] = 0;
  return n > 0 ? n : -ESRCH;
}

namespace {
// The number behind a line's name in /proc/PID/status.
bool field(const char* text, const char* name, int base, unsigned long long& value) {
  const char* at = std::strstr(text, name);
  if (!at)
    return false;
  value = std::strtoull(at + std::strlen(name), nullptr, base);
  return true;
}
} // namespace

int caller::process() const {
  char status_text[256];
  unsigned long long id = 0;
  if (text("status", status_text, sizeof status_text) < 0 || !field(status_text, "\nTgid:", 10, id))
    return -ESRCH;
  return static_cast<int>(id);
}

int caller::file_mode_mask() const {
  char status_text[256];
  unsigned long long mask = 0;
  if (text("status", status_text, sizeof status_text) < 0 ||
      !field(status_text, "\nUmask:", 8, mask))
    return -ESRCH;
  return static_cast<int>(mask & 0777);
}

bool caller::has_one_thread() const {
  // Directory entries of procfs are not counted in its link count on every kernel, so ask stat.
  char stat_text[1024];
  if (text("stat", stat_text, sizeof stat_text) < 0)
    return false;
  const char* at = std::strrchr(stat_text, ')');
  // Behind the name: state is field 3, num_threads field 20.
  for (int field = 2; at && field < 20; ++field)
    at = std::strchr(at + 1, ' ');
  return at && std::atoi(at + 1) == 1;
}

bool caller::signal_waits() const {
  char status_text[4096];
  if (text("status", status_text, sizeof status_text) < 0)
    return false;
  unsigned long long own = 0, shared = 0, blocked = 0, caught = 0;
  field(status_text, "\nSigPnd:", 16, own);
  field(status_text, "\nShdPnd:", 16, shared);
  field(status_text, "\nSigBlk:", 16, blocked);
  field(status_text, "\nSigCgt:", 16, caught);
  return ((own | shared) & ~blocked & caught) != 0;
}

caller::terminal_of caller::terminal() const {
  char stat_text[1024];
  if (text("stat", stat_text, sizeof stat_text) < 0)
    return {};
  const char* behind_name = std::strrchr(stat_text, ')');
  char state = 0;
  int parent = 0, group = 0, session = 0;
  unsigned device = 0;
  if (!behind_name || std::sscanf(behind_name + 1, " %c %d %d %d %u", &state, &parent, &group,
                                  &session, &device) != 5)
    return {};
  return {makedev((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00)),
          session == 0}; // its leader has no number here
}

} // namespace piorch::sandbox::guard
