// operations::open and truncate: files that come into being or are opened for writing.
#include "sandbox/guard/blocked_open.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/mutex.hpp"
#include "sandbox/guard/operations.hpp"
#include "sandbox/guard/outside.hpp"

#include <cstdio>
#include <cstring>
#include <sys/sysmacros.h>

namespace piorch::sandbox::guard {

namespace {

constexpr int kernel_large_file = 0100000; // glibc's O_LARGEFILE is 0 where it is implied
constexpr int known_flags = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                            O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | kernel_large_file |
                            O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC;
constexpr int tries_at_most = 64;

// Never through a link, without O_NOFOLLOW, which would stay visible in F_GETFL.
int open_exactly(int parent, const char* name, int flags, mode_t mode) {
  if (flags & O_NOFOLLOW)
    return status(::openat(parent, name, flags, mode));
  return open_how_at(parent, name, static_cast<unsigned>(flags), flags & O_CREAT ? mode : 0,
                     RESOLVE_NO_SYMLINKS);
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC); }

// Clears O_NONBLOCK again, which kept the supervisor from waiting.
void set_flags(int fd, int flags) { ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK); }

} // namespace

int operations::hand_over(int fd, bool close_on_exec) {
  const int outcome = reply_descriptor(c_.listener(), c_.id(), fd, close_on_exec);
  if (outcome == unheard && s_.lost)
    t_.unheard_fd.reset(fd);
  else
    ::close(fd);
  return outcome;
}

// Ours is closed before the caller goes on: who writes next would find us writing the copy still.
int operations::hand_over_copy(int fd, bool close_on_exec) {
  if (s_.lost) { // a signal between two steps would leave a descriptor that nobody knows of
    const locked nobody_looks(s_.configs.looking());
    return hand_over(fd, close_on_exec);
  }
  unique_fd copy(fd);
  const int number = add_descriptor(c_.listener(), c_.id(), fd, close_on_exec);
  if (number == -ENOENT || number == -ESRCH)
    return unheard;
  copy.reset();
  if (number < 0)
    return number;
  reply_status(c_.listener(), c_.id(), number);
  return answered;
}

int operations::open(int directory, const char* path, int flags, mode_t mode) {
  flags &= known_flags;
  const bool create = (flags & O_CREAT) != 0;
  const bool exclusive = create && (flags & O_EXCL);
  const std::size_t length = std::strlen(path);
  const bool slash = length > 0 && path[length - 1] == '/';
  const bool keep = slash ? create : (flags & O_NOFOLLOW) || exclusive;
  const auto last = keep ? last_link::keep : last_link::follow;
  // What is found may change until it is acted on; then it is looked for again.
  for (int tries = 0; tries < tries_at_most; ++tries) {
    place at;
    if (const int e = find_place(c_, directory, path, last, true, at); e < 0)
      return e;
    if (!c_.alive())
      return answered;
    int outcome;
    if (at.magic) {
      outcome = open_magic(at, flags);
    } else if (create && (at.itself() || at.slash)) {
      outcome = at.itself() && exclusive ? -EEXIST : -EISDIR;
    } else if (at.exists && exclusive) {
      outcome = -EEXIST;
    } else if (at.exists) {
      outcome = open_present(at, flags);
    } else {
      outcome = create ? open_absent(at, flags, mode & 07777) : -ENOENT;
    }
    if (outcome != -EAGAIN || (flags & O_NONBLOCK))
      return outcome;
  }
  return -EAGAIN;
}

// -EAGAIN: look again.
int operations::open_absent(place& at, int flags, mode_t mode) {
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  bool is_copy = false;
  auto act = [&](verdict v) -> int {
    is_copy = v == verdict::stage;
    const unique_fd lock(v == verdict::lock ? creation_lock(at.parent) : -1);
    if (v == verdict::lock && lock.get() < 0) // without O_EXCL a name that is there is tried again
      return lock.get() == -EEXIST && !(flags & O_EXCL) ? -EBUSY : lock.get();
    if (v == verdict::stage)
      return s_.configs.open(at.parent, at.name, flags | O_CLOEXEC | O_NOCTTY, mode);
    if (v == verdict::decoy)
      return make_decoy(at.parent, at.name, flags, mode);
    return open_exactly(at.parent, at.name.c_str(), flags | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
  };
  if (const int e = use_callers_mask(); e < 0)
    return e;
  const int fd = make(at, deed::create, act);
  if (fd < 0)
    return fd == -EEXIST && !(flags & O_EXCL) ? -EAGAIN : fd;
  return is_copy ? hand_over_copy(fd, close_on_exec) : hand_over(fd, close_on_exec);
}

int operations::open_present(place& at, int flags) {
  const int open_flags = (flags & ~(O_CREAT | O_EXCL)) | O_CLOEXEC | O_NOCTTY;
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  if (at.itself())
    return hand_over_or_fail(::openat(at.parent, at.name.c_str(), open_flags), close_on_exec);
  if (S_ISLNK(at.state.st_mode))
    return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
  if (S_ISDIR(at.state.st_mode))
    return flags & (O_CREAT | O_ACCMODE)
               ? -EISDIR
               : hand_over_or_fail(open_exactly(at.parent, at.name.c_str(), open_flags, 0),
                                   close_on_exec);
  if (at.slash)
    return -ENOTDIR;
  if (S_ISCHR(at.state.st_mode) && at.state.st_rdev == makedev(5, 0))
    return open_terminal(open_flags);
  if (S_ISFIFO(at.state.st_mode) && !(flags & O_NONBLOCK))
    return open_waiting(at, open_flags, close_on_exec);

  if (writes(flags) && forbids_writing(check(at)))
    return is_read_only(at) ? -EROFS : refuse(at, protected_name);
  ::pthread_rwlock_rdlock(&s_.deeds);
  const char* why = nullptr;
  verdict v = writes(flags) ? judge(at, deed::write, why) : verdict::allow;
  int fd = -EACCES;
  if (v != verdict::refuse) {
    const unique_fd lock(v == verdict::lock ? creation_lock(at.parent) : -1);
    const without_tracing limited(at.foreign);
    fd = v == verdict::lock && lock.get() < 0 ? -EBUSY
         : v == verdict::stage
             ? s_.configs.open(at.parent, at.name, open_flags, 0)
             : open_exactly(at.parent, at.name.c_str(), open_flags | O_NONBLOCK, 0);
    if (fd == staged_files::impossible ||
        (fd >= 0 && writes(flags) && is_refused_now(at, deed::write, v, why)))
      v = verdict::refuse;
  }
  ::pthread_rwlock_unlock(&s_.deeds);
  if (v == verdict::refuse) {
    if (fd >= 0)
      ::close(fd);
    return refuse(at, why);
  }
  if (fd == -ENOENT || (fd == -ELOOP && !(flags & O_NOFOLLOW)))
    return -EAGAIN;
  if (fd == -EAGAIN && !(flags & O_NONBLOCK)) // a lease has to be broken first
    return open_waiting(at, open_flags, close_on_exec);
  if (fd < 0)
    return fd;
  struct stat s {};
  if (::fstat(fd, &s) != 0 || S_ISFIFO(s.st_mode)) {
    const int e = check_fifo(fd, flags);
    if (e < 0 || !(flags & O_NONBLOCK)) {
      ::close(fd);
      return e < 0 ? e : -EAGAIN;
    }
  }
  if (!(flags & O_NONBLOCK))
    set_flags(fd, flags);
  return v == verdict::stage ? hand_over_copy(fd, close_on_exec) : hand_over(fd, close_on_exec);
}

int operations::open_waiting(place& at, int open_flags, bool close_on_exec) {
  unique_fd pinned(open_path(at.parent, at.name.c_str(), O_NOFOLLOW));
  if (pinned.get() < 0)
    return pinned.get() == -ENOENT ? -EAGAIN : pinned.get();
  struct stat s {};
  if (::fstat(pinned.get(), &s) != 0 || S_ISLNK(s.st_mode))
    return -EAGAIN;
  if (const int e = writes(open_flags) ? may_write(pinned.get()) : 0; e < 0)
    return e;
  if (const int e = check_fifo(pinned.get(), open_flags); e < 0)
    return e;
  if (writes(open_flags) && forbids_writing(check(at)))
    return refuse(at, protected_name);
  return open_in_own_thread(c_, pinned.release(), open_flags & ~O_NOFOLLOW, close_on_exec);
}

int operations::open_magic(place& at, int flags) {
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  const int open_flags = (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY;
  unique_fd pinned;
  {
    const without_tracing limited(at.foreign);
    pinned.reset(open_path(at.parent, at.name.c_str()));
  }
  if (pinned.get() < 0)
    return pinned.get();
  struct stat s {};
  if (::fstat(pinned.get(), &s) != 0)
    return -errno;
  if (S_ISDIR(s.st_mode))
    return -EISDIR;
  if (S_ISFIFO(s.st_mode) && !(flags & O_NONBLOCK)) {
    if (const int e = check_fifo(pinned.get(), flags); e < 0)
      return e;
    return open_in_own_thread(c_, pinned.release(), open_flags, close_on_exec);
  }
  char name[40];
  std::snprintf(name, sizeof name, "self/fd/%d", pinned.get());
  ::pthread_rwlock_rdlock(&s_.deeds); // what is checked in a directory stays as it is then
  int fd = writes(flags) ? may_write_magic(at, pinned.get()) : 0;
  if (fd == 0)
    fd = check_fifo(pinned.get(), flags);
  const bool may_open = fd == 0;
  if (may_open)
    fd = status(::openat(s_.proc, name, open_flags | O_NONBLOCK));
  ::pthread_rwlock_unlock(&s_.deeds);
  if (may_open && fd == -EAGAIN && !(flags & O_NONBLOCK)) // a lease has to be broken first
    return open_in_own_thread(c_, pinned.release(), open_flags, close_on_exec);
  if (fd >= 0 && !(flags & O_NONBLOCK))
    set_flags(fd, flags);
  return fd < 0 ? fd : hand_over(fd, close_on_exec);
}

int operations::hand_over_or_fail(int fd, bool close_on_exec) {
  const int e = fd < 0 && fd != -1 ? fd : status(fd);
  return e < 0 ? e : hand_over(e, close_on_exec);
}

// /dev/tty is the caller's terminal, which is the supervisor's only if it is the one outside.
int operations::open_terminal(int open_flags) {
  const auto terminal = c_.terminal();
  const unsigned kind = major(terminal.device);
  const bool own = kind >= 136 && kind <= 143; // pseudo terminals
  if (terminal.device == 0 || !(terminal.outside || own))
    return -ENXIO;
  char name[40] = "dev/tty";
  if (!terminal.outside)
    std::snprintf(name, sizeof name, "dev/pts/%u", (kind - 136) * 256 + minor(terminal.device));
  const int root = c_.root();
  const int fd = root < 0 ? root
                          : open_how_at(root, name, static_cast<unsigned>(open_flags & ~O_NOFOLLOW),
                                        0, RESOLVE_NO_SYMLINKS);
  return fd < 0 ? -ENXIO : hand_over(fd, (open_flags & O_CLOEXEC) != 0);
}

int operations::truncate(const char* path, off_t length) {
  for (int tries = 0; tries < tries_at_most; ++tries) {
    place at;
    if (const int e = find_place(c_, AT_FDCWD, path, last_link::follow, true, at); e < 0)
      return e;
    if (!c_.alive())
      return answered;
    if (!at.exists)
      return -ENOENT;
    unique_fd pinned;
    {
      const without_tracing limited(at.foreign);
      pinned.reset(open_path(at.parent, at.name.c_str(), at.magic ? 0 : O_NOFOLLOW));
    }
    struct stat s {};
    if (pinned.get() < 0 && pinned.get() != -ENOENT)
      return pinned.get();
    if (pinned.get() < 0 || ::fstat(pinned.get(), &s) != 0 || S_ISLNK(s.st_mode))
      continue;
    if (S_ISDIR(s.st_mode))
      return -EISDIR;
    if (at.slash)
      return -ENOTDIR;
    if (!S_ISREG(s.st_mode))
      return -EINVAL;
    char name[40];
    std::snprintf(name, sizeof name, "self/fd/%d", pinned.get());
    ::pthread_rwlock_rdlock(&s_.deeds);
    int e = at.magic ? may_write_magic(at, pinned.get()) : may_write(pinned.get());
    if (e == 0) {
      unique_fd fd(::openat(s_.proc, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
      e = !fd || ::ftruncate(fd.get(), length) != 0 ? -errno : 0;
    }
    ::pthread_rwlock_unlock(&s_.deeds);
    return e;
  }
  return -ENOENT;
}

} // namespace piorch::sandbox::guard
