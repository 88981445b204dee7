#include "sandbox/facilities.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/memory_group.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

// Newer than the headers of the oldest distribution that we build on.
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace piorch::sandbox {

namespace {

// 0, or errno of a call whose arguments are wrong on purpose: `expected` is what
// a kernel answers that knows the call.
int ask(long result, int expected) {
  if (result >= 0)
    return 0;
  return errno == expected ? 0 : errno;
}

int ask_for_descriptor(long result) {
  const ipc::unique_fd fd(static_cast<int>(result));
  return fd ? 0 : errno;
}

int ask_for_notification() {
  const auto flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  // The flags are looked at before the program is read from nowhere.
  return ask(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr), EFAULT);
}

} // namespace

std::vector<facility> find_facilities() {
  std::vector<facility> out;
  out.push_back({"openat2", "to find protected paths without following links", "5.6",
                 ask(::syscall(SYS_openat2, -1, "", nullptr, 0), EINVAL)});
  out.push_back({"open_tree", "to protect paths inside the workspace", "5.2",
                 ask_for_descriptor(::syscall(SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC))});
  out.push_back({"mount_setattr", "to protect paths inside the workspace", "5.12",
                 ask(::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0), EINVAL)});
  out.push_back({"pidfd_open", "to end a process tree for sure", "5.3",
                 ask_for_descriptor(::syscall(SYS_pidfd_open, ::getpid(), 0))});
  std::uint32_t action = SECCOMP_RET_ERRNO;
  out.push_back({"seccomp", "to filter system calls", "4.14",
                 ask(::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), 0)});
  out.push_back({"seccomp notification", "to protect names that do not exist yet", "5.19",
                 ask_for_notification()});
  return out;
}

bool can_notify() { return ask_for_notification() == 0; }

limit_mechanisms judge_limits(const std::string& release, bool root, bool memory_group) {
  limit_mechanisms out;
  using how = limit_mechanisms::processes_type;
  int major = 0, minor = 0;
  std::sscanf(release.c_str(), "%d.%d", &major, &minor);
  if (major > 6 || (major == 6 && minor >= 14))
    out.processes = how::pid_namespace;
  else // the kernel does not bind its own root by RLIMIT_NPROC
    out.processes = root ? how::none : how::user_limit;
  if (memory_group)
    out.memory = limit_mechanisms::memory_type::group;
  return out;
}

limit_mechanisms find_limit_mechanisms() {
  struct utsname about {};
  ::uname(&about);
  return judge_limits(about.release, ::getuid() == 0, !writable_memory_parent().empty());
}

const char* describe(limit_mechanisms::processes_type how) {
  switch (how) {
    case limit_mechanisms::processes_type::pid_namespace:
      return "pid_max of the sandbox's own PID namespace";
    case limit_mechanisms::processes_type::user_limit:
      return "RLIMIT_NPROC of the user in the sandbox's user namespace";
    case limit_mechanisms::processes_type::none:
      return "not enforced: RLIMIT_NPROC does not bind root, and pid_max is per namespace only "
             "since Linux 6.14";
  }
  return "?";
}

const char* describe(limit_mechanisms::memory_type how) {
  return how == limit_mechanisms::memory_type::group
             ? "a memory cgroup for the sum, RLIMIT_DATA for each process"
             : "RLIMIT_DATA for each process; for their sum this user can make no memory cgroup";
}

} // namespace piorch::sandbox
