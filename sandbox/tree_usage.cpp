#include "sandbox/tree_usage.hpp"

#include "ipc/unique_fd.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

struct process {
  pid_t parent = 0;
  double cpu_seconds = 0;
  std::uint64_t rss_bytes = 0;
};

// The name in the second field may hold anything, also spaces and parentheses.
bool read_stat(int proc, const char* name, process& out) {
  const std::string path = std::string(name) + "/stat";
  const ipc::unique_fd fd(::openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const auto n = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (n <= 0)
    return false;
  text[n] = '\0';
  const char* rest = std::strrchr(text, ')');
  long parent = 0, user = 0, system = 0, waited_user = 0, waited_system = 0, pages = 0;
  if (!rest || std::sscanf(rest + 1,
                           " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld %*d %*d "
                           "%*d %*d %*u %*u %ld",
                           &parent, &user, &system, &waited_user, &waited_system, &pages) != 6)
    return false;
  out.parent = static_cast<pid_t>(parent);
  out.cpu_seconds = static_cast<double>(user + system + waited_user + waited_system) /
                    static_cast<double>(::sysconf(_SC_CLK_TCK));
  out.rss_bytes =
      static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return true;
}

} // namespace

std::map<pid_t, tree_usage> measure_trees(const std::set<pid_t>& roots) {
  std::map<pid_t, tree_usage> out;
  for (const pid_t root : roots)
    out[root];
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (roots.empty() || !proc)
    return out;
  std::map<pid_t, process> all;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (process p; pid > 0 && read_stat(::dirfd(proc.get()), entry->d_name, p))
      all[pid] = p;
  }
  for (const auto& [pid, p] : all) {
    // They were not read in one moment: a circle must not hold us.
    std::size_t steps = 0;
    for (pid_t up = p.parent; up > 0 && steps <= all.size(); ++steps) {
      if (const auto root = out.find(up); root != out.end()) {
        root->second.cpu_seconds += p.cpu_seconds;
        root->second.rss_bytes += p.rss_bytes;
        ++root->second.processes;
      }
      const auto next = all.find(up);
      up = next == all.end() ? 0 : next->second.parent;
    }
  }
  return out;
}

} // namespace piorch::sandbox
