#include "sandbox/memory_group.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sstream>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace piorch::sandbox {

namespace {

constexpr std::size_t proc_file_limit = 1 << 20;
constexpr std::string_view group_prefix = "piorch-";

bool write_file(const std::string& path, const std::string& text) {
  const ipc::unique_fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The mount point of a cgroup hierarchy in this namespace.
std::string mount_point(const std::string& type, const std::string& option) {
  std::istringstream mounts(read_small_file("/proc/self/mounts", proc_file_limit).value_or(""));
  std::string device, where, kind, options, rest;
  while (mounts >> device >> where >> kind >> options && std::getline(mounts, rest))
    if (kind == type &&
        (option.empty() || ("," + options + ",").find("," + option + ",") != std::string::npos))
      return where;
  return {};
}

std::string own_group(const std::string& controllers) {
  std::istringstream groups(read_small_file("/proc/self/cgroup", proc_file_limit).value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second != std::string::npos && line.substr(first + 1, second - first - 1) == controllers)
      return line.substr(second + 1);
  }
  return {};
}

bool usable(const std::string& directory, bool unified) {
  if (::access(directory.c_str(), W_OK) != 0)
    return false;
  if (!unified)
    return true;
  // Only where the controller is on for children already: switching it on would
  // change somebody else's group.
  const auto on = read_small_file(directory + "/cgroup.subtree_control", proc_file_limit);
  return on && (" " + *on).find(" memory") != std::string::npos &&
         ::access((directory + "/cgroup.procs").c_str(), W_OK) == 0;
}

std::string find_parent(const std::string& mount, std::string group, bool unified) {
  if (mount.empty() || group.empty())
    return {};
  for (;;) {
    const std::string directory = group == "/" ? mount : mount + group;
    if (usable(directory, unified))
      return directory;
    if (group == "/" || group.empty() || !unified)
      return {};
    group = parent_of(group);
  }
}

// Every process below `init` that is not in the group yet.
std::vector<pid_t> tree_below(pid_t init) {
  std::vector<pid_t> out{init};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(out[i]) + "/task";
    DIR* d = ::opendir(tasks.c_str());
    if (!d)
      continue;
    while (const dirent* e = ::readdir(d)) {
      std::istringstream children(
          read_small_file(tasks + "/" + e->d_name + "/children", proc_file_limit).value_or(""));
      for (pid_t pid; children >> pid;)
        out.push_back(pid);
    }
    ::closedir(d);
  }
  return out;
}

// The lock of this user's group; none when somebody has it.
ipc::unique_fd take_lock(const std::string& path) {
  ipc::unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || st.st_uid != ::geteuid() ||
      ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return {};
  return fd;
}

// Of an owner that is gone. A number alone says little: it may be of another PID namespace.
bool remove_left(const std::string& path) {
  const ipc::unique_fd lock = take_lock(path);
  return lock && ::rmdir(path.c_str()) == 0; // refuses while something lives in it
}

// 0: not a name of ours.
pid_t owner_of(const std::string& name) {
  if (name.compare(0, group_prefix.size(), group_prefix) != 0)
    return 0;
  const pid_t owner = static_cast<pid_t>(std::atol(name.c_str() + group_prefix.size()));
  return owner > 0 && name == std::string(group_prefix) + std::to_string(owner) ? owner : 0;
}

} // namespace

std::string writable_memory_parent() {
  if (auto v1 = find_parent(mount_point("cgroup", "memory"), own_group("memory"), false);
      !v1.empty())
    return v1;
  return find_parent(mount_point("cgroup2", ""), own_group(""), true);
}

memory_group memory_group::place(pid_t init, std::uint64_t limit_bytes) {
  memory_group out;
  const std::string parent = writable_memory_parent();
  if (parent.empty())
    return out;
  // Named by its owner, so that a later start can tell that the owner is gone.
  const std::string path = parent + "/" + std::string(group_prefix) + std::to_string(::getpid());
  int rc = ::mkdir(path.c_str(), 0755);
  if (rc != 0 && errno == EEXIST && remove_left(path)) // of one that had our number before
    rc = ::mkdir(path.c_str(), 0755);
  if (rc != 0)
    return out;
  out.path_ = path;
  out.lock_ = take_lock(path);
  const std::string limit = std::to_string(limit_bytes);
  if (!write_file(path + "/memory.limit_in_bytes", limit) &&
      !write_file(path + "/memory.max", limit))
    return memory_group();
  // Init first: what it or a moved process starts from now on is inside. A
  // second look catches what was started in between.
  for (int look = 0; look < 4; ++look) {
    bool moved = false;
    const auto inside = read_small_file(path + "/cgroup.procs", proc_file_limit).value_or("");
    for (const pid_t pid : tree_below(init)) {
      const std::string number = std::to_string(pid);
      if (("\n" + inside).find("\n" + number + "\n") == std::string::npos)
        moved = write_file(path + "/cgroup.procs", number) || moved;
    }
    if (!moved)
      break;
  }
  return out;
}

memory_group::memory_group(memory_group&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

memory_group& memory_group::operator=(memory_group&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

memory_group::~memory_group() {
  if (!path_.empty())
    ::rmdir(path_.c_str());
}

bool memory_group::ended_something() const {
  if (path_.empty())
    return false;
  for (const char* file : {"/memory.oom_control", "/memory.events"}) { // v1, v2
    std::istringstream counters(read_small_file(path_ + file, proc_file_limit).value_or(""));
    std::string name;
    for (std::uint64_t value = 0; counters >> name >> value;)
      if (name == "oom_kill" && value > 0)
        return true;
  }
  return false;
}

void sweep_memory_groups() noexcept {
  try {
    const std::string parent = writable_memory_parent();
    DIR* d = parent.empty() ? nullptr : ::opendir(parent.c_str());
    if (!d)
      return;
    while (const dirent* e = ::readdir(d)) {
      const pid_t owner = owner_of(e->d_name);
      if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH)
        remove_left(parent + "/" + e->d_name);
    }
    ::closedir(d);
  } catch (...) { // out of memory: the next start tries again
  }
}

} // namespace piorch::sandbox
