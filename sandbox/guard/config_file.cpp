#include "sandbox/guard/config_file.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/git_dir.hpp"
#include "sandbox/guard/git_keys.hpp"
#include "sandbox/guard/object_format.hpp"
#include "sandbox/guard/state_file.hpp"
#include "sandbox/guard/state_refusal.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <sys/file.h>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr int tries_at_most = 1000; // a millisecond each: its holder may wait for a processor

} // namespace

int creation_lock(int directory) {
  unique_fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return -errno;
  // Another guard holds it for the length of one deed; a program that keeps it longer keeps
  // its own user's Git from working.
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    const timespec ms{0, 1000000};
    if (errno != EWOULDBLOCK)
      return -errno;
    if (tries == tries_at_most || ::nanosleep(&ms, nullptr) != 0)
      return -EEXIST;
  }
  return fd.release();
}

int read_regular(int directory, const char* name, std::string& text, struct stat& state,
                 std::size_t at_most) {
  unique_fd fd(open_how_at(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0,
                           RESOLVE_NO_SYMLINKS));
  if (fd.get() < 0)
    return fd.get() == -ELOOP ? -EACCES : fd.get();
  if (::fstat(fd.get(), &state) != 0)
    return -errno;
  if (!S_ISREG(state.st_mode) || state.st_size > static_cast<off_t>(at_most))
    return -EACCES;
  text.resize(static_cast<std::size_t>(state.st_size) + 1); // it may have grown
  std::size_t got = 0;
  for (ssize_t n; (n = ::read(fd.get(), &text[got], text.size() - got)) != 0;) {
    if (n < 0)
      return -errno;
    got += static_cast<std::size_t>(n);
    if (got > at_most)
      return -EACCES;
    if (got == text.size())
      text.resize(std::min(2 * got, at_most + 1));
  }
  text.resize(got);
  return 0;
}

writers writers_of(int fd) {
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) != 0)
    return errno == EAGAIN ? writers::some : writers::unclear;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  return writers::none;
}

namespace {

int make_file(int directory, const char* name, const std::string& text, const struct stat& like) {
  unique_fd fd(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd)
    return -errno;
  for (std::size_t at = 0; at < text.size();) {
    const auto n = ::write(fd.get(), text.data() + at, text.size() - at);
    if (n <= 0)
      return n < 0 ? -errno : -EIO;
    at += static_cast<std::size_t>(n);
  }
  // Another group than the process's own may not be ours to give.
  [[maybe_unused]] const int group = ::fchown(fd.get(), static_cast<uid_t>(-1), like.st_gid);
  return ::fchmod(fd.get(), like.st_mode & 07777) == 0 ? 0 : -errno;
}

// Is the change from D/`config` to the text one that may be made? 0, or -EACCES and `refused`.
int check_change(int directory, const std::string& old, std::string& fresh,
                 const std::string& config, const std::string& path, std::string& refused) {
  fresh = without_work_tree(old, fresh, path);
  const bool of_work_tree = git_name_of(config) == git_name::worktree_config;
  std::string key =
      first_refused(old, fresh, of_work_tree ? settings_of::work_tree : settings_of::repository);
  // `git clone` comes to it late, when there is no index yet.
  if (key.empty() && !of_work_tree && may_be_sha256(fresh) && !may_be_sha256(old) &&
      !may_become_sha256(directory))
    key = "extensions.objectformat";
  if (!key.empty())
    refused = "git config: " + key;
  return key.empty() ? 0 : -EACCES;
}

} // namespace

int renew_file(int directory, const std::string& config, const std::string& text,
               const struct stat& like) {
  const std::string lock = config + ".lock";
  int e = make_file(directory, lock.c_str(), text, like);
  if (e == 0)
    e = status(::renameat(directory, lock.c_str(), directory, config.c_str()));
  if (e < 0 && e != -EEXIST)
    ::unlinkat(directory, lock.c_str(), 0);
  return e;
}

int publish(int directory, const char* lock, const char* config, const std::string& path,
            std::string& refused) {
  refused = only_by_lock;
  const int fd = creation_lock(directory);
  if (fd < 0)
    return fd == -EEXIST ? -EACCES : fd;
  const unique_fd held(fd);
  std::string fresh, old;
  struct stat state {
  }, old_state{};
  int e = read_regular(directory, lock, fresh, state);
  if (e == -EACCES && state.st_size > static_cast<off_t>(config_bytes_at_most))
    refused = refusal(state_file::none, too_long);
  if (e < 0)
    return e;
  e = read_regular(directory, config, old, old_state);
  if (e < 0 && e != -ENOENT)
    return e;
  if (e = check_change(directory, old, fresh, config, path, refused); e < 0)
    return e;
  refused.clear();
  // Nobody makes the lock file meanwhile, and nobody else has it open from now on.
  e = status(::unlinkat(directory, lock, 0));
  if (e == 0)
    e = make_file(directory, lock, fresh, state);
  return e < 0 ? e : status(::renameat(directory, lock, directory, config));
}

int replace_file(int directory, const std::string& config, const std::string& text,
                 const std::string& path, git_file_places& places, copied_file& was,
                 std::string& refused) {
  std::string old;
  struct stat state {};
  const auto kind = state_file_of(directory, path, config);
  const auto is_there = [&] {
    return read_regular(directory, config.c_str(), old, state, most_bytes(kind)) == 0;
  };
  const auto not_written = [&](int e) {
    refused = refusal(kind, e == -EEXIST ? std::string(lock_in_the_way)
                                         : std::string("not written, ") + std::strerror(-e));
    return e;
  };
  if (is_there() && old == text) // nearly always, and then nobody may be kept from the lock
    return 0;
  const int fd = creation_lock(directory);
  if (fd < 0)
    return not_written(fd);
  const unique_fd held(fd), also_held(kind == state_file::index ? settings_lock(directory) : -1);
  if (also_held.get() < -1)
    return not_written(also_held.get());
  if (!is_there() || !(inode_of(state) == was.file || old == was.text) || old == text)
    return 0;
  std::string fresh = text;
  int e = kind == state_file::none ? check_change(directory, old, fresh, config, path, refused)
                                   : check_state(kind, directory, places, fresh, refused);
  if (e < 0 || fresh == old)
    return e;
  if (e = renew_file(directory, config, fresh, state); e < 0)
    return not_written(e);
  if (::fstatat(directory, config.c_str(), &state, AT_SYMLINK_NOFOLLOW) == 0)
    was = {inode_of(state), fresh, unique_fd(open_path(directory, config.c_str(), O_NOFOLLOW))};
  return e;
}

} // namespace piorch::sandbox::guard
