#include "sandbox/guard/operations.hpp"

#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/outside.hpp"
#include "sandbox/guard/umask_cache.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <sched.h>

namespace piorch::sandbox::guard {

namespace {
constexpr const char* unclear_name = "its name changed meanwhile";
} // namespace

bool operations::is_there(const place& at) {
  struct stat s {};
  return ::fstatat(at.parent, at.name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0;
}

bool operations::is_link(const place& at) {
  struct stat s {};
  return ::fstatat(at.parent, at.name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(s.st_mode);
}

void prepare_thread(thread_state& t) {
  // With a working directory and a umask that another thread changes nothing is checked.
  if (::unshare(CLONE_FS) != 0)
    ::_exit(125);
  t.own_mask = ::umask(0);
  ::umask(t.own_mask);
  t.masks = new (std::nothrow) umask_cache;
}

int operations::use_callers_mask() {
  const int mask = t_.masks ? t_.masks->of(c_, __atomic_load_n(&s_.mask_changes, __ATOMIC_SEQ_CST))
                            : c_.file_mode_mask();
  if (mask < 0)
    return mask;
  if (t_.own_mask != static_cast<mode_t>(mask)) {
    t_.own_mask = static_cast<mode_t>(mask);
    ::umask(t_.own_mask);
  }
  return 0;
}

int operations::refuse(const place& at, const char* rule) {
  s_.sink((path_of(s_.proc, at.parent) + '/' + at.name).c_str(), rule);
  return -EACCES;
}

bool operations::is_refused_now(place& at, deed what, verdict before, const char*& why) {
  at.path = path_of_directory(at.parent);
  if (!depends_on_surroundings(at.path, at.name) && !s_.programs.concern(at.path, at.name))
    return false;
  const verdict now = judge(at, what, why);
  return now == verdict::refuse || (now == verdict::stage && before != verdict::stage) ||
         (now == verdict::publish && before != verdict::publish);
}

std::string operations::path_of_directory(int fd) const {
  path_buffer path;
  // Unreachable ones begin with a parenthesis; deleted and too long ones are errors.
  if (::fchdir(fd) == 0 && ::syscall(SYS_getcwd, path, sizeof path) > 0 && path[0] == '/')
    return path;
  return path_of(s_.proc, fd);
}

hit operations::check(place& at) {
  const hit by_name = s_.names.check(at.parent, at.name);
  if (by_name == hit::guarded)
    return by_name;
  at.path = path_of_directory(at.parent);
  const std::string path = at.path.empty() ? path_above(at.parent) : at.path;
  return path.empty() || s_.names.covers(path) ? hit::guarded : by_name;
}

// Too long to be told: it is below what is found further up.
std::string operations::path_above(int directory) const {
  std::string path;
  for (unique_fd up; path.empty();) {
    const int fd =
        errno == ENAMETOOLONG ? open_path(up ? up.get() : directory, "..", O_DIRECTORY) : -1;
    if (fd < 0)
      return {};
    up.reset(fd);
    path = path_of(s_.proc, fd);
  }
  return path;
}

bool operations::is_read_only(const place& at) {
  return ::faccessat(at.parent, at.name.c_str(), W_OK, AT_SYMLINK_NOFOLLOW | AT_EACCESS) != 0 &&
         errno == EROFS;
}

std::string operations::directory_path(const place& at) const {
  std::string path = path_of_directory(at.parent);
  return path.empty() ? path_above(at.parent) : path;
}

bool operations::is_plain(const place& at, const char* link_target) const {
  const std::string path = directory_path(at);
  if (path.empty() || s_.names.is_plain(path))
    return true;
  return is_in_git_dir(at.parent, path) && !(link_target && is_trial_link(at.name, link_target));
}

bool operations::is_plain_by_rule(const place& at) const {
  const std::string path = directory_path(at);
  return path.empty() || s_.names.is_plain(path);
}

bool operations::is_out_of_place(const place& at) const {
  struct stat s {};
  return ::fstatat(at.parent, at.name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode) &&
         (is_plain(at) || (is_read_in_trees(at.name) && !S_ISLNK(s.st_mode)));
}

// The directory may have become a Git directory since it was looked at.
int operations::stay_in_place(const place& made) {
  if (!is_out_of_place(made))
    return 0;
  ::unlinkat(made.parent, made.name.c_str(), 0);
  return refuse(made, only_plain);
}

// Checks and carries out one deed that makes at.name. `act` returns a descriptor, 0 or -errno.
int operations::make(place& at, deed what, action act) {
  const hit h = check(at);
  const bool blocked = h == hit::guarded || (h == hit::ancestor && what != deed::make_directory);
  // An existing name is the kernel's own refusal.
  if (blocked)
    return what != deed::create && is_there(at)
               ? -EEXIST
               : refuse(at, h == hit::guarded ? protected_name : protected_parent);
  const char* why = nullptr;
  // However it was judged, no link comes into the way of a `.git` file.
  bool in_the_way = false;
  const auto carry_out = [&](verdict v) {
    if (what != deed::make_other)
      return act(v);
    const git_file_places::pause still(s_.git_files);
    in_the_way = !s_.git_files.may_arrive(at.parent, at.name);
    return in_the_way ? -EACCES : act(v);
  };
  ::pthread_rwlock_rdlock(&s_.deeds);
  verdict v = judge(at, what, why);
  if (v == verdict::convert) {
    ::pthread_rwlock_unlock(&s_.deeds);
    ::pthread_rwlock_wrlock(&s_.deeds);
    std::string refused;
    const auto may_be_one = [&] { return may_become_git_dir(at.parent, refused); };
    int outcome = is_there(at) ? -EEXIST : has_the_other(at.parent, at.name) ? may_be_one() : 0;
    if (outcome == 0) {
      outcome = carry_out(v);
      // Another sandbox may have made the other one, or planted something, meanwhile.
      if (outcome >= 0 && has_objects_and_refs(at.parent) && may_be_one() != 0) {
        ::unlinkat(at.parent, at.name.c_str(), what == deed::make_directory ? AT_REMOVEDIR : 0);
        if (what == deed::create)
          ::close(outcome);
        outcome = -EACCES;
      }
    }
    ::pthread_rwlock_unlock(&s_.deeds);
    return in_the_way        ? refuse(at, on_the_way_of_a_git_file)
           : refused.empty() ? outcome
                             : refuse(at, refused.c_str());
  }
  const int outcome = v == verdict::refuse ? -EACCES : carry_out(v);
  if (in_the_way) {
    v = verdict::refuse;
    why = on_the_way_of_a_git_file;
  } else if (outcome >= 0 && v != verdict::decoy && is_refused_now(at, what, v, why)) {
    v = verdict::refuse;
    ::unlinkat(at.parent, at.name.c_str(), what == deed::make_directory ? AT_REMOVEDIR : 0);
    if (what == deed::create)
      ::close(outcome);
  }
  ::pthread_rwlock_unlock(&s_.deeds);
  if (v != verdict::refuse)
    return outcome == staged_files::impossible ? refuse(at, why) : outcome;
  return what != deed::create && outcome < 0 && is_there(at) ? -EEXIST : refuse(at, why);
}

int operations::make_directory(int directory, const char* path, mode_t mode) {
  place at;
  if (const int e = find_place(c_, directory, path, last_link::keep, false, at); e < 0)
    return e;
  if (!c_.alive())
    return answered;
  if (const int e = use_callers_mask(); e < 0)
    return e;
  auto act = [&](verdict) {
    return status(::mkdirat(at.parent, at.spelled().c_str(), mode & 07777));
  };
  return make(at, deed::make_directory, act);
}

int operations::refuses_node(mode_t mode) {
  switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFCHR:
    case S_IFBLK:
    case S_IFIFO:
    case S_IFSOCK:
      return 0;
    case S_IFDIR:
      return -EPERM;
    default:
      return -EINVAL;
  }
}

int operations::make_node(int directory, const char* path, mode_t mode, dev_t device) {
  place at;
  if (const int e = find_place(c_, directory, path, last_link::keep, false, at); e < 0)
    return e;
  if (!c_.alive())
    return answered;
  const bool is_file = (mode & S_IFMT) == 0 || S_ISREG(mode);
  // Git of the host would wait for ever at a .gitignore that is a FIFO.
  if (!is_file && (is_plain(at) || is_read_in_trees(at.name)))
    return is_there(at) ? -EEXIST : refuse(at, only_plain);
  if (const int e = use_callers_mask(); e < 0)
    return e;
  auto act = [&](verdict) {
    const int e = status(::syscall(SYS_mknodat, at.parent, at.spelled().c_str(), mode,
                                   static_cast<unsigned>(device)));
    return e < 0 || is_file ? e : stay_in_place(at);
  };
  return make(at, deed::make_other, act);
}

int operations::make_symlink(const char* target, int directory, const char* path) {
  if (!*target)
    return -ENOENT;
  place at;
  if (const int e = find_place(c_, directory, path, last_link::keep, false, at); e < 0)
    return e;
  if (!c_.alive())
    return answered;
  if (is_dot_git(at.name))
    return is_there(at) ? -EEXIST : refuse(at, link_to_repository);
  if (is_plain(at, target))
    return is_there(at) ? -EEXIST : refuse(at, only_plain);
  auto act = [&](verdict) {
    const int e = status(::symlinkat(target, at.parent, at.spelled().c_str()));
    if (e < 0 || !is_plain(at, target)) // the directory may have become a Git directory
      return e;
    ::unlinkat(at.parent, at.name.c_str(), 0);
    return refuse(at, only_plain);
  };
  return make(at, deed::make_other, act);
}

int operations::find_name_of(int fd, place& out) {
  struct stat s {};
  if (::fstat(fd, &s) != 0)
    return -errno;
  // Without a name: pipes, sockets, memory files, O_TMPFILE, deleted ones.
  std::string path = path_of(s_.proc, fd);
  if (s.st_nlink == 0 || path.empty() || path[0] != '/')
    return 1;
  const auto slash = path.rfind('/');
  unique_fd parent(open_how_at(s_.root, path.substr(0, slash + 1).c_str(),
                               O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                               RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS));
  out = place();
  out.name = path.substr(slash + 1);
  if (parent.get() < 0 ||
      ::fstatat(parent.get(), out.name.c_str(), &out.state, AT_SYMLINK_NOFOLLOW) != 0 ||
      !(inode_of(out.state) == inode_of(s)))
    return -EACCES;
  out.owned = std::move(parent);
  out.parent = out.owned.get();
  return 0;
}

int operations::may_write(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) == 0 && !S_ISREG(s.st_mode))
    return 0;
  place at;
  int found = -EACCES;
  for (int tries = 0; tries < 8 && found == -EACCES; ++tries)
    found = find_name_of(fd, at);
  if (found > 0)
    return 0;
  const char* why = unclear_name;
  if (found < 0) {
    s_.sink(path_of(s_.proc, fd).c_str(), why);
    return -EACCES;
  }
  if (forbids_writing(check(at)))
    return is_read_only(at) ? -EROFS : refuse(at, protected_name);
  const verdict v = judge(at, deed::write, why);
  if (v == verdict::lock) // only under that lock, by its name
    return refuse(at, only_by_lock);
  return v == verdict::refuse || v == verdict::stage ? refuse(at, why) : 0;
}

int operations::may_write_magic(const place& at, int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0)
    return -errno;
  const bool holds_data = S_ISREG(s.st_mode) || S_ISBLK(s.st_mode);
  if (!holds_data || !is_outside(s_.proc, fd))
    return may_write(fd);
  if (!at.foreign && is_open_for_writing(c_, at.name.c_str(), fd))
    return 0;
  return refuse(at, outside_name);
}

int operations::find_second(const place& first, int directory, std::uint64_t path, place& out) {
  path_buffer text;
  int e = c_.copy_path(path, text);
  if (e == 0)
    e = find_place(c_, directory, text, last_link::keep, false, out);
  struct stat s {};
  // Not being allowed to look into the first one's directory comes first.
  if (e < 0 && first.parent >= 0 && ::fstatat(first.parent, ".", &s, 0) != 0)
    return -errno;
  return e;
}

} // namespace piorch::sandbox::guard
