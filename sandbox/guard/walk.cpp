#include "sandbox/guard/walk.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <vector>

namespace piorch::sandbox::guard {

namespace {

constexpr int links_at_most = 40; // as the kernel

bool in_procfs(int fd) {
  struct statfs s {};
  return ::fstatfs(fd, &s) == 0 && s.f_type == PROC_SUPER_MAGIC;
}

bool is_proc_root(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 && s.st_ino == 1 && in_procfs(fd);
}

enum class whose { nobody, own, other, init };

// The process whose entry of procfs `fd` is, or is below of.
whose owner_of(caller& c, int fd) {
  const std::string path = path_of(c.proc(), fd);
  if (path.rfind("/proc", 0) != 0)
    return whose::init; // another mount of procfs: none of ours
  if (path.size() < 7 || path[6] < '0' || path[6] > '9')
    return whose::nobody;
  const int process = std::atoi(path.c_str() + 6);
  if (process == c.process())
    return whose::own;
  // A thread's number names its process too.
  char name[40], text[256];
  std::snprintf(name, sizeof name, "%d/status", process);
  unique_fd file(::openat(c.proc(), name, O_RDONLY | O_CLOEXEC));
  const auto n = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (n <= 0)
    return whose::other;
  text[n] = 0;
  const char* group = std::strstr(text, "\nTgid:");
  const int leader = group ? std::atoi(group + 6) : ::getpid();
  return leader == ::getpid() ? whose::init : leader == c.process() ? whose::own : whose::other;
}

// The components that are still to be walked, first one last.
class remaining {
public:
  void push(const char* path) {
    const std::size_t length = std::strlen(path);
    if (parts_.empty() && length > 0 && path[length - 1] == '/')
      slash_ = true;
    for (std::size_t end = length; end > 0;) {
      if (path[end - 1] == '/') {
        --end;
        continue;
      }
      std::size_t begin = end;
      while (begin > 0 && path[begin - 1] != '/')
        --begin;
      parts_.emplace_back(path + begin, end - begin);
      end = begin;
    }
  }
  bool empty() const { return parts_.empty(); }
  bool slash() const { return slash_; }
  std::string pop() {
    std::string part = std::move(parts_.back());
    parts_.pop_back();
    return part;
  }

private:
  std::vector<std::string> parts_;
  bool slash_ = false;
};

class walk {
public:
  walk(caller& c, last_link last, place& out) : caller_(c), last_(last), out_(out) {}

  int run(unique_fd start, const char* path) {
    here_ = std::move(start);
    if (caller_.root() < 0)
      return -ENOENT;
    rest_.push(path);
    if (rest_.empty())
      return end_at(".", true);
    for (;;) {
      const std::string name = rest_.pop();
      const int e = name == "." || name == ".." ? step_dots(name) : step(name);
      if (e != more_)
        return e;
    }
  }

private:
  static constexpr int more_ = 1;

  int end_at(std::string name, bool exists) {
    out_.owned = std::move(here_);
    out_.parent = out_.owned.get();
    out_.name = std::move(name);
    out_.slash = rest_.slash();
    out_.looked = true;
    out_.exists = exists;
    out_.in_proc = in_procfs(out_.parent);
    if (out_.in_proc) {
      const whose owner = owner_of(caller_, out_.parent);
      if (owner == whose::init)
        return -EACCES;
      out_.foreign = owner == whose::other;
    }
    return 0;
  }

  int step_dots(const std::string& name) {
    const bool at_root = same_place(here_.get(), caller_.root());
    if (rest_.empty())
      return end_at(name == ".." && at_root ? "." : name, true);
    if (name == ".." && !at_root)
      return enter("..");
    return more_;
  }

  int enter(const char* name) {
    const int fd = open_path(here_.get(), name, O_DIRECTORY);
    if (fd < 0)
      return fd;
    here_.reset(fd);
    return more_;
  }

  bool follows_last() const { return last_ == last_link::follow; }

  int step(const std::string& name) {
    const bool last = rest_.empty();
    const bool proc = in_procfs(here_.get());
    if (proc && is_proc_root(here_.get()) && (name == "self" || name == "thread-self"))
      return step_self(name, last);
    unique_fd next;
    const int fd = open_path(here_.get(), name.c_str(), O_NOFOLLOW);
    if (fd < 0)
      return fd == -ENOENT && last ? end_at(name, false) : fd;
    next.reset(fd);
    struct stat s {};
    if (::fstat(fd, &s) != 0)
      return -errno;
    if (S_ISLNK(s.st_mode) && (!last || follows_last()))
      return proc ? step_magic(name, last) : step_link(next.get());
    if (last) {
      out_.state = s;
      return end_at(name, true);
    }
    if (!S_ISDIR(s.st_mode))
      return -ENOTDIR;
    here_ = std::move(next);
    return more_;
  }

  int step_link(int link) {
    if (++links_ > links_at_most)
      return -ELOOP;
    path_buffer target;
    const auto n = ::readlinkat(link, "", target, sizeof target - 1);
    if (n <= 0)
      return n < 0 ? -errno : -ENOENT;
    target[n] = 0;
    rest_.push(target);
    if (target[0] != '/')
      return more_;
    here_.reset(::openat(caller_.root(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!here_)
      return -errno;
    return rest_.empty() ? end_at(".", true) : more_;
  }

  // /proc/self means the caller, not whoever walks.
  int step_self(const std::string& name, bool last) {
    if (last && !follows_last()) {
      out_.state = {};
      out_.state.st_mode = S_IFLNK | 0777;
      return end_at(name, true);
    }
    if (++links_ > links_at_most)
      return -ELOOP;
    const int process = caller_.process();
    if (process < 0)
      return -ENOENT;
    char target[64];
    if (name == "self")
      std::snprintf(target, sizeof target, "%d", process);
    else
      std::snprintf(target, sizeof target, "%d/task/%d", process, caller_.tid());
    rest_.push(target);
    return more_;
  }

  // A link of procfs may lead where no path does, so the kernel has to follow it. Ordinary
  // ones (/proc/mounts) end in self and get there the same way.
  int step_magic(const std::string& name, bool last) {
    if (++links_ > links_at_most)
      return -ELOOP;
    const whose owner = owner_of(caller_, here_.get());
    if (owner == whose::init)
      return -EACCES;
    if (owner == whose::nobody) {
      unique_fd link(open_path(here_.get(), name.c_str(), O_NOFOLLOW));
      return link ? step_link(link.get()) : -ENOENT;
    }
    if (last) {
      out_.magic = true;
      return end_at(name, true);
    }
    const without_tracing limited(owner == whose::other);
    return enter(name.c_str());
  }

  caller& caller_;
  const last_link last_;
  place& out_;
  unique_fd here_;
  remaining rest_;
  int links_ = 0;
};

// Directory that a relative or absolute path starts from; `own` keeps it when new.
int start_of(caller& c, int directory, const char* path, unique_fd& own) {
  if (path[0] == '/')
    return c.root() < 0 ? -ENOENT : c.root();
  if (directory == AT_FDCWD)
    return c.directory() < 0 ? -ENOENT : c.directory();
  const int fd = c.descriptor(directory);
  if (fd < 0)
    return fd;
  own.reset(fd);
  struct stat s {};
  if (::fstat(fd, &s) == 0 && !S_ISDIR(s.st_mode))
    return -ENOTDIR;
  return fd;
}

int walk_it(caller& c, int start, const char* path, last_link last, place& out) {
  unique_fd from(::openat(start, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!from)
    return -errno;
  out = place();
  return walk(c, last, out).run(std::move(from), path);
}

} // namespace

int find_place(caller& c, int directory, const char* path, last_link last, bool look, place& out) {
  if (!*path)
    return -ENOENT;
  while (path[0] == '.' && path[1] == '/' && path[2] != '/' && path[2] != 0) // as tar spells
    path += 2;
  unique_fd own;
  const int start = start_of(c, directory, path, own);
  if (start < 0)
    return start;

  std::size_t end = std::strlen(path);
  const std::size_t length = end;
  while (end > 0 && path[end - 1] == '/')
    --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/')
    --begin;
  const std::string name(path + begin, end - begin);
  if (name.empty() || name == "." || name == "..")
    return walk_it(c, start, path, last, out);

  out = place();
  if (begin == 0) {
    out.parent = start;
  } else {
    // In one step where "..", links and mounts can only lead where they lead the caller.
    const std::string parent(path, begin);
    const int fd =
        open_how_at(start, parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                    RESOLVE_NO_MAGICLINKS | (path[0] == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH));
    if (fd < 0)
      return walk_it(c, start, path, last, out);
    out.owned.reset(fd);
    out.parent = fd;
  }
  if (in_procfs(out.parent))
    return walk_it(c, start, path, last, out);
  out.name = name;
  out.slash = end < length;
  if (look || (out.slash && last == last_link::follow)) {
    out.looked = true;
    out.exists = ::fstatat(out.parent, name.c_str(), &out.state, AT_SYMLINK_NOFOLLOW) == 0;
    if (!out.exists && errno != ENOENT)
      return -errno;
    if (out.exists && S_ISLNK(out.state.st_mode) && last == last_link::follow) {
      unique_fd from(::openat(out.parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!from)
        return -errno;
      const std::string spelled = out.spelled();
      out = place();
      return walk(c, last, out).run(std::move(from), spelled.c_str());
    }
  }
  if (begin == 0 && own) {
    out.owned = std::move(own);
    out.parent = out.owned.get();
  }
  return 0;
}

std::string path_of(int proc, int fd) {
  char name[40];
  path_buffer path;
  std::snprintf(name, sizeof name, "self/fd/%d", fd);
  const auto n = ::readlinkat(proc, name, path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

bool same_place(int a, int b) {
  struct stat x {
  }, y{};
  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && inode_of(x) == inode_of(y) &&
         same_mount(a, b);
}

bool same_mount(int a, int b) {
  struct statx p {
  }, q{};
  return ::statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &p) == 0 &&
         ::statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &q) == 0 && p.stx_mnt_id == q.stx_mnt_id;
}

namespace {
bool set_tracing(bool on) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0}; // 0: this thread
  __user_cap_data_struct caps[2]{};
  if (::syscall(SYS_capget, &head, caps) != 0)
    return false;
  constexpr std::uint32_t bit = 1u << CAP_SYS_PTRACE;
  if (((caps[0].effective & bit) != 0) == on || (caps[0].permitted & bit) == 0)
    return false;
  caps[0].effective ^= bit;
  return ::syscall(SYS_capset, &head, caps) == 0;
}
} // namespace

without_tracing::without_tracing(bool really) : changed_(really && set_tracing(false)) {}
without_tracing::~without_tracing() {
  const int kept = errno;
  if (changed_)
    set_tracing(true);
  errno = kept;
}

} // namespace piorch::sandbox::guard
