#include "tools/piorch-init/hold.hpp"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace piorch::init {

namespace {

constexpr int max_looks = 1000; // about a second
constexpr unsigned max_processes = 1 << 16, max_stopped = 1024;
pid_t stopped_before[max_stopped];
unsigned stopped_count = 0;
bool held = false;

// The sandbox's processes, oldest first as /proc lists them; 0: cannot be told.
unsigned list_processes(pid_t* out, unsigned room) {
  DIR* d = ::opendir("/proc");
  if (!d)
    return 0;
  unsigned n = 0;
  while (const dirent* e = ::readdir(d))
    if (const long pid = std::atol(e->d_name); pid > 1 && n < room)
      out[n++] = static_cast<pid_t>(pid);
  ::closedir(d);
  return n;
}

// The state letter of a process or thread; 0 when it is gone.
char state_of(const char* stat_file) {
  char text[512];
  const int fd = ::open(stat_file, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char* end_of_name = std::strrchr(text, ')'); // the name is the process's own choice
  return end_of_name && end_of_name[1] == ' ' ? end_of_name[2] : '\0';
}

bool is_stopped(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  return state_of(path) == 'T';
}

// Stopped, ended, or in a wait that no signal ends (a parent until its vfork child
// executes, a call that the guard carries out): the stop comes before it goes on.
bool all_threads_rest(pid_t pid) {
  char path[64 + NAME_MAX];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* d = ::opendir(path);
  if (!d)
    return true; // gone
  bool rest = true;
  while (const dirent* e = ::readdir(d)) {
    std::snprintf(path, sizeof path, "/proc/%d/task/%s/stat", pid, e->d_name);
    const char state = e->d_name[0] == '.' ? '\0' : state_of(path);
    rest = rest && (state == '\0' || std::strchr("TtZXD", state));
  }
  ::closedir(d);
  return rest;
}

pid_t processes[max_processes];

} // namespace

bool is_held() { return held; }

bool hold_everything() {
  if (held)
    return true;
  held = true;
  stopped_count = 0;
  const unsigned n = list_processes(processes, max_processes);
  for (unsigned i = 0; i < n && stopped_count < max_stopped; ++i)
    if (is_stopped(processes[i]))
      stopped_before[stopped_count++] = processes[i];
  ::kill(-1, SIGSTOP); // at once for all: a fork under way is stopped or not made
  // Each acts on it when it is next scheduled, and until then one that waits for a line
  // of the terminal would still get it. The kernel tells nobody but its parent when a
  // process has stopped, so this looks, and waits for the scheduler in between.
  for (int look = 0; look < max_looks; ++look) {
    const unsigned count = list_processes(processes, max_processes);
    if (count == 0 || count == max_processes)
      return false;
    unsigned resting = 0;
    while (resting < count && all_threads_rest(processes[resting]))
      ++resting;
    if (resting == count)
      return true;
    const timespec a_while{0, 1000000};
    ::nanosleep(&a_while, nullptr);
  }
  return false;
}

void release_everything() {
  if (!held)
    return;
  held = false;
  if (stopped_count == max_stopped) // somebody's prank
    stopped_count = 0;
  unsigned n = list_processes(processes, max_processes);
  if (n == 0 || n == max_processes)
    ::kill(-1, SIGCONT);
  else
    // The youngest first: a shell that went on before its child would see it stopped.
    while (n-- > 0) {
      bool was = false;
      for (unsigned i = 0; i < stopped_count; ++i)
        was = was || stopped_before[i] == processes[n];
      if (!was)
        ::kill(processes[n], SIGCONT);
    }
}

} // namespace piorch::init
