#include "sandbox/guard/staged_files.hpp"

#include "sandbox/guard/memory_file.hpp"
#include "sandbox/guard/mutex.hpp"
#include "sandbox/guard/state_refusal.hpp"
#include "sandbox/guard/walk.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <poll.h>
#include <sys/inotify.h>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int tries_at_most = 1000; // a millisecond each, when all are in use
constexpr int looks_at_most = 10;   // after 1, 2, 4 … milliseconds

int open_again(int proc, int fd, int flags) {
  char name[40];
  std::snprintf(name, sizeof name, "self/fd/%d", fd);
  return status(::openat(proc, name, flags));
}

// -EFBIG, -errno or 0.
int read_all(int fd, std::size_t at_most, std::string& text) {
  struct stat s {};
  if (::fstat(fd, &s) != 0)
    return -errno;
  if (s.st_size > static_cast<off_t>(at_most))
    return -EFBIG;
  text.resize(static_cast<std::size_t>(s.st_size) + 1);
  std::size_t got = 0;
  for (ssize_t n; got < text.size() &&
                  (n = ::pread(fd, &text[got], text.size() - got, static_cast<off_t>(got))) != 0;
       got += static_cast<std::size_t>(n))
    if (n < 0)
      return -errno;
  text.resize(got);
  return got > static_cast<std::size_t>(s.st_size) ? -EFBIG : 0; // grows while it is read
}

// The file that was made, unless somebody has used its name or the file meanwhile.
void remove_empty(int directory, const std::string& name, const inode& made) {
  struct stat there {};
  if (::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      inode_of(there) == made && there.st_size == 0)
    ::unlinkat(directory, name.c_str(), 0);
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto n = ::write(fd, text.data() + at, text.size() - at);
    if (n <= 0)
      return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace

state_file staged_files::kind_of(int directory, const std::string& name) const {
  return state_file_of(directory, path_of(proc_, directory), name);
}

int staged_files::open(int directory, const std::string& name, int flags, mode_t mode) {
  // Of truncation alone, and of Linux's fourth mode, no end is told.
  if ((flags & O_ACCMODE) != O_WRONLY && (flags & O_ACCMODE) != O_RDWR)
    return impossible;
  unique_fd made;
  struct stat state {};
  if (flags & O_CREAT) {
    made.reset(::openat(directory, name.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!made)
      return -errno;
  }
  const int fd = open_copy(directory, name, flags, static_cast<bool>(made));
  if (fd < 0 && made && ::fstat(made.get(), &state) == 0)
    remove_empty(directory, name, inode_of(state));
  return fd;
}

int staged_files::open_copy(int directory, const std::string& name, int flags, bool made) {
  if (::faccessat(directory, name.c_str(), (flags & O_ACCMODE) == O_WRONLY ? W_OK : R_OK | W_OK,
                  AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0)
    return -errno;
  std::string old;
  struct stat state {};
  if (const int e =
          read_regular(directory, name.c_str(), old, state, most_bytes(kind_of(directory, name)));
      e < 0)
    return e;
  unique_fd copy(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (copy ? writers_of(copy.get()) == writers::unclear : makes_no_nameless_files(errno))
    copy.reset(memory_file(O_RDWR | O_CLOEXEC, 0600));
  else if (!copy)
    return -errno;
  if (copy.get() < 0)
    return copy.get();
  if (!(flags & O_TRUNC) && !write_all(copy.get(), old))
    return -EIO;
  unique_fd text(open_again(proc_, copy.get(), O_RDONLY | O_CLOEXEC));
  unique_fd theirs(open_again(proc_, copy.get(),
                              flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW | O_NONBLOCK)));
  if (text.get() < 0 || theirs.get() < 0)
    return theirs.get() < 0 ? theirs.get() : text.get();
  copy.reset(); // before it is watched
  unique_fd held(open_path(directory, name.c_str(), O_NOFOLLOW));
  struct stat now {};
  if (held.get() < 0 || ::fstat(held.get(), &now) != 0)
    return held.get() < 0 ? held.get() : -errno;
  if (!(inode_of(now) == inode_of(state)))
    return -EBUSY; // replaced meanwhile
  const int e = add(directory, name, std::move(text),
                    {inode_of(state), std::move(old), std::move(held)}, made);
  return e < 0 ? e : theirs.release();
}

int staged_files::add(int directory, const std::string& name, unique_fd text, copied_file was,
                      bool made) {
  for (int tries = 0;; ++tries) {
    {
      const locked l(mutex_);
      if (!events_ && !start())
        return impossible;
      if (entry* e = free_entry()) {
        char at[48];
        std::snprintf(at, sizeof at, "/proc/self/fd/%d", text.get());
        e->directory.reset(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
        e->watch = e->directory ? ::inotify_add_watch(events_.get(), at, IN_CLOSE_WRITE) : -1;
        if (e->watch < 0)
          return impossible;
        e->text = std::move(text);
        e->name = name;
        e->was = std::move(was);
        e->made = made;
        ++in_use_;
        return 0;
      }
    }
    const timespec ms{0, 1000000};
    if (tries == tries_at_most || ::nanosleep(&ms, nullptr) != 0)
      return impossible;
  }
}

staged_files::entry* staged_files::free_entry() {
  for (entry& e : entries_)
    if (e.watch < 0)
      return &e;
  return nullptr;
}

bool staged_files::start() {
  unique_fd events(::inotify_init1(IN_CLOEXEC));
  pthread_attr_t attributes;
  pthread_t thread;
  if (!events)
    return false;
  events_ = std::move(events);
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool started = ::pthread_create(&thread, &attributes, wait_for_ends, this) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!started)
    events_.reset();
  return started;
}

void* staged_files::wait_for_ends(void* self) {
  auto& s = *static_cast<staged_files*>(self);
  alignas(inotify_event) char buffer[4096];
  int timeout = -1;
  for (;;) {
    pollfd ready{s.events_.get(), POLLIN, 0};
    const int told = ::poll(&ready, 1, timeout);
    const auto n = told > 0 ? ::read(s.events_.get(), buffer, sizeof buffer) : 0;
    if (told < 0 || n < 0) {
      if (errno == EINTR)
        continue;
      return nullptr;
    }
    const locked l(s.mutex_);
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      for (entry& e : s.entries_)
        if (e.watch == event->wd && (event->mask & IN_CLOSE_WRITE))
          e.looks = looks_at_most;
    }
    for (entry& e : s.entries_)
      if (e.looks > 0)
        s.look(e);
    timeout = s.milliseconds_to_next_look();
  }
}

// The kernel tells of a close before it counts the writer out, so whoever is still counted may be
// another one, or on the way out.
void staged_files::look(entry& e) {
  // Looked at first: else it could come between.
  if (writers_of(e.text.get()) != writers::some)
    return finish(e);
  put_in_place(e);
  --e.looks;
}

void staged_files::finish(entry& e) {
  if (!put_in_place(e) && e.made && is_dot_git(e.name))
    remove_empty(e.directory.get(), e.name, e.was.file);
  ::inotify_rm_watch(events_.get(), e.watch);
  e = entry();
  --in_use_;
}

void staged_files::catch_up() {
  if (in_use_ == 0)
    return;
  const locked l(mutex_);
  for (entry& e : entries_)
    if (e.watch >= 0 && writers_of(e.text.get()) == writers::none)
      finish(e);
}

int staged_files::milliseconds_to_next_look() const {
  int most = 0;
  for (const entry& e : entries_)
    most = std::max(most, e.looks);
  return most == 0 ? -1 : 1 << (looks_at_most - most);
}

bool staged_files::put_in_place(entry& e) {
  std::string text, refused;
  const std::string path = path_of(proc_, e.directory.get());
  const auto kind = kind_of(e.directory.get(), e.name);
  const int error = read_all(e.text.get(), most_bytes(kind), text);
  if (error < 0)
    refused = refusal(kind, error == -EFBIG ? too_long : "could not be read back");
  else
    replace_file(e.directory.get(), e.name, text, path, places_, e.was, refused);
  if (!refused.empty())
    sink_((path + '/' + e.name).c_str(), refused.c_str());
  return refused.empty();
}

void staged_files::settle() {
  const locked l(mutex_);
  for (entry& e : entries_)
    if (e.watch >= 0)
      finish(e);
}

} // namespace piorch::sandbox::guard
