#include "sandbox/scratch.hpp"

#include "config/private_directory.hpp"
#include "sandbox/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace piorch::sandbox {

namespace {

constexpr std::string_view prefix = "pi-sandbox-tmp-piorch-";
// The parent goes whenever the last private directory does, also between any two steps of
// making one: no reason is final at once.
constexpr int attempts = 64;

// Holds the lock and the directory still has a name: it is ours.
bool take_lock(int fd) {
  struct stat st {};
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &st) == 0 && st.st_nlink > 0;
}

ipc::unique_fd open_directory(int parent, const char* name) {
  return ipc::unique_fd(
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

// A command may have closed its own directories; whether this helps shows when
// the directory is opened. Through a descriptor of the directory itself, since
// chmod follows a link that somebody puts in its place.
void make_accessible(int parent, const char* name) {
  const ipc::unique_fd it(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!it)
    return;
  const std::string link = "/proc/self/fd/" + std::to_string(it.get());
  [[maybe_unused]] const int rc = ::chmod(link.c_str(), 0700);
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> out;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!entries) {
    if (copy >= 0)
      ::close(copy);
    return out;
  }
  while (const dirent* e = ::readdir(entries))
    if (std::strcmp(e->d_name, ".") != 0 && std::strcmp(e->d_name, "..") != 0)
      out.emplace_back(e->d_name);
  ::closedir(entries);
  return out;
}

// Empties `top` by descending and climbing without recursion: a command can
// nest directories deeper than any stack. One descriptor per step down would
// run out too, so the way up is "..", checked to be where we came from.
bool empty_directory(ipc::unique_fd top) {
  struct stat st {};
  if (::fstat(top.get(), &st) != 0)
    return false;
  const dev_t device = st.st_dev;
  struct level {
    std::string name;
    ino_t inode;
  };
  std::vector<level> way{{"", st.st_ino}};
  ipc::unique_fd here = std::move(top);
  for (;;) {
    std::string down;
    ::fchmod(here.get(), 0700);
    bool stuck = false;
    for (const std::string& name : names_in(here.get())) {
      if (::unlinkat(here.get(), name.c_str(), 0) == 0)
        continue;
      if (errno != EISDIR && errno != EPERM && errno != EBUSY) {
        stuck = true;
        continue;
      }
      if (::unlinkat(here.get(), name.c_str(), AT_REMOVEDIR) == 0)
        continue;
      down = name;
      break;
    }
    if (stuck && down.empty())
      return false;
    if (!down.empty()) {
      if (::fstatat(here.get(), down.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(st.st_mode) || st.st_dev != device)
        return false;
      make_accessible(here.get(), down.c_str());
      ipc::unique_fd next = open_directory(here.get(), down.c_str());
      if (!next)
        return false;
      way.push_back({down, st.st_ino});
      here = std::move(next);
      continue;
    }
    if (way.size() == 1)
      return true;
    ipc::unique_fd up = open_directory(here.get(), "..");
    if (!up || ::fstat(up.get(), &st) != 0 || st.st_ino != way[way.size() - 2].inode)
      return false;
    if (::unlinkat(up.get(), way.back().name.c_str(), AT_REMOVEDIR) != 0)
      return false;
    way.pop_back();
    here = std::move(up);
  }
}

void sweep(const std::string& directory) {
  const ipc::unique_fd base(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!base)
    return;
  for (const std::string& name : names_in(base.get())) {
    if (name.compare(0, prefix.size(), prefix) != 0)
      continue;
    struct stat st {};
    if (::fstatat(base.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != ::geteuid())
      continue;
    make_accessible(base.get(), name.c_str());
    const ipc::unique_fd fd = open_directory(base.get(), name.c_str());
    if (fd && take_lock(fd.get()))
      remove_tree(base.get(), name.c_str());
  }
}

// Where nobody else uses it.
void remove_parent(const std::string& path) noexcept {
  try {
    const std::string parent = parent_of(path);
    if (parent == scratch_parent(parent_of(parent)))
      ::rmdir(parent.c_str());
  } catch (...) { // out of memory: the next start tries again
  }
}

} // namespace

std::string scratch_parent(const std::string& temp_dir) {
  return join(temp_dir, "pi-sandbox-" + std::to_string(::geteuid()));
}

std::string system_temp() { return canonical("/tmp").value_or("/tmp"); }

bool remove_tree(int parent, const char* name) noexcept {
  try {
    if (ipc::unique_fd top = open_directory(parent, name); top)
      empty_directory(std::move(top));
    return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
  } catch (...) { // out of memory: the next start tries again
    return false;
  }
}

result<scratch> scratch::make(const std::string& temp_dir) {
  const auto failed = [&](const std::string& why) {
    return error{failure::fault, "cannot make a private directory in " + temp_dir + ": " + why};
  };
  const auto base = canonical(temp_dir);
  if (!base)
    return failed(std::strerror(errno));
  const std::string parent = scratch_parent(*base);
  std::string why;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (auto made = config::make_private_directory(parent, "TMPDIR"); !made) {
      why = made.failed().text;
      continue;
    }
    std::string path = join(parent, std::string(prefix) + "XXXXXX");
    if (!::mkdtemp(path.data())) {
      why = std::strerror(errno);
      ::rmdir(parent.c_str());
      continue;
    }
    ipc::unique_fd fd = open_directory(AT_FDCWD, path.c_str());
    if (fd && take_lock(fd.get()))
      return adopt(std::move(path), std::move(fd));
    why = "others remove it";
  }
  return failed(why);
}

scratch scratch::adopt(std::string path, ipc::unique_fd directory) {
  scratch s;
  s.path_ = std::move(path);
  s.directory_ = std::move(directory);
  return s;
}

std::pair<std::string, ipc::unique_fd> scratch::release() {
  return {std::exchange(path_, {}), std::move(directory_)};
}

void scratch::remove() noexcept {
  if (path_.empty())
    return;
  remove_tree(AT_FDCWD, path_.c_str());
  remove_parent(path_);
  path_.clear();
  directory_.reset();
}

void sweep_scratch(const std::string& temp_dir) noexcept {
  try {
    for (const std::string& base :
         std::set{canonical(temp_dir).value_or(system_temp()), system_temp()}) {
      const std::string parent = scratch_parent(base);
      sweep(parent);
      ::rmdir(parent.c_str());
      sweep(base);
    }
  } catch (...) { // out of memory: the next start tries again
  }
}

} // namespace piorch::sandbox
