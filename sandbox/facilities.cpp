#include "sandbox/facilities.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/memory_group.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
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

// Only an installed filter shows whether somebody else's listener is in the way: one that
// does nothing, in a process that ends at once. 0 or an errno.
int ask_for_notification(unsigned long more_flags) {
  sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program{1, &allow};
  const pid_t child = ::fork();
  if (child < 0)
    return errno;
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                    SECCOMP_FILTER_FLAG_NEW_LISTENER | more_flags, &program);
    if (listener < 0)
      ::_exit(errno & 0xff);
    // A kernel that knows both ways of answering says that there is no such call.
    seccomp_notif_addfd nobody{};
    nobody.flags = SECCOMP_ADDFD_FLAG_SEND;
    nobody.srcfd = static_cast<__u32>(listener);
    const int rc = ::ioctl(static_cast<int>(listener), SECCOMP_IOCTL_NOTIF_ADDFD, &nobody);
    ::_exit(rc == 0 || errno == ENOENT ? 0 : EINVAL);
  }
  int how = 0;
  while (::waitpid(child, &how, 0) < 0)
    if (errno != EINTR)
      return errno;
  return WIFEXITED(how) ? WEXITSTATUS(how) : EPERM; // killed by a filter of the surroundings
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
  const guard_support guard = find_guard_support();
  out.push_back(
      {"seccomp notification", "to protect names that do not exist yet", "5.14", guard.error});
  if (guard.error == 0)
    out.push_back({"uninterrupted notification",
                   "without it a call that a signal interrupts is carried out first and answered "
                   "when it is made again",
                   "5.19", guard.interruptible ? EINVAL : 0, false});
  return out;
}

guard_support find_guard_support() {
  guard_support out;
  out.error = ask_for_notification(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  if (out.error == EINVAL) {
    out.error = ask_for_notification(0);
    out.interruptible = out.error == 0;
  }
  return out;
}

const char* remedy_for_no_notification(int error) {
  switch (error) {
    case EBUSY:
      return "another seccomp listener is at work here (LXD, another piorch): run piorch outside "
             "of it";
    case EPERM:
    case EACCES:
      return "seccomp is forbidden here: allow it to this container (podman/docker: --security-opt "
             "seccomp=unconfined)";
    default:
      return "this needs Linux 5.14 or newer with seccomp notifications: run piorch doctor";
  }
}

// The kernel takes no lower one (RESERVED_PIDS + 1); piorch-init writes it instead.
constexpr std::uint64_t least_pid_max = 301;

limit_mechanisms judge_limits(const std::string& release, bool root, bool memory_group) {
  limit_mechanisms out;
  using how = limit_mechanisms::processes_type;
  int major = 0, minor = 0;
  std::sscanf(release.c_str(), "%d.%d", &major, &minor);
  if (major > 6 || (major == 6 && minor >= 14)) {
    out.processes = how::pid_namespace;
    if (root) // all others are bound by RLIMIT_NPROC, too
      out.least_processes = least_pid_max;
  } else // the kernel does not bind its own root by RLIMIT_NPROC
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

namespace {

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

} // namespace

std::string describe_processes(const limit_mechanisms& how, std::uint64_t asked) {
  std::string out = describe(how.processes);
  if (asked < how.least_processes)
    out += ": " + std::to_string(how.least_processes) + ", the least that pid_max can be; " +
           std::to_string(asked) + " was asked for";
  return out;
}

const char* describe(limit_mechanisms::memory_type how) {
  return how == limit_mechanisms::memory_type::group
             ? "a memory cgroup for the sum, RLIMIT_DATA for each process"
             : "RLIMIT_DATA for each process; for their sum this user can make no memory cgroup";
}

} // namespace piorch::sandbox
