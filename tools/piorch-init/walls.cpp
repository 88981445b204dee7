#include "tools/piorch-init/walls.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace piorch::init {

namespace {

int open_beneath(int root, const char* path, unsigned long long resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
}

bool is_link(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

// Puts a copy of what `source` names on top of `fd`. 0 or an errno.
int mount_over(int fd, int source, bool read_only) {
  const int tree = static_cast<int>(
      ::syscall(SYS_open_tree, source, "",
                AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (tree < 0)
    return errno;
  int error = 0;
  if (read_only) {
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_RDONLY;
    if (::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) !=
        0)
      error = errno;
  }
  if (!error && ::syscall(SYS_move_mount, tree, "", fd, "",
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    error = errno;
  ::close(tree);
  return error;
}

int mount_on_itself(int fd, bool read_only) { return mount_over(fd, fd, read_only); }

// The roots' descriptors must come from the new mount namespace.
std::vector<int> open_roots(const job& j, const link& to_broker) {
  std::vector<int> roots;
  for (const root& r : j.roots) {
    const int fd = open_beneath(AT_FDCWD, r.path, 0);
    struct stat st {};
    if (fd < 0 || ::fstat(fd, &st) != 0)
      to_broker.fail(wire::stage::setup, errno, "open", r.path);
    if (st.st_dev != r.what.device || st.st_ino != r.what.inode)
      to_broker.fail(wire::stage::setup, ESTALE, "this directory was replaced meanwhile:", r.path);
    roots.push_back(fd);
  }
  return roots;
}

} // namespace

void make_mounts(const job& j, const link& to_broker) {
  // For an ordinary caller bubblewrap's mounts belong to an outer user
  // namespace; a copy of the mount namespace is ours to add to.
  if (::unshare(CLONE_NEWNS) != 0)
    to_broker.fail(wire::stage::setup, errno, "make a mount namespace");
  const std::vector<int> roots = open_roots(j, to_broker);
  for (const mount& m : j.mounts) {
    const int fd = open_beneath(roots[m.what.root], m.path, RESOLVE_BENEATH);
    if (fd < 0) {
      if (errno == ENOENT) // removed since the survey: as if it had not been there
        continue;
      to_broker.fail(wire::stage::setup, errno, "protect", m.path);
    }
    const int error = mount_on_itself(fd, m.what.flags & wire::mount_read_only);
    // Not every kernel mounts links on links. What the link leads to is protected
    // in any case, and the create guard lets no other link take its place.
    if (error && !is_link(fd))
      to_broker.fail(wire::stage::setup, error, "protect", m.path);
    ::close(fd);
  }
  for (const int fd : roots)
    ::close(fd);
}

void cover_kernel_files(const job& j, const link& to_broker) {
  // Per PID namespace since Linux 6.14; RLIMIT_NPROC does not bind the host's
  // root, so there this is the limit. Elsewhere the write fails and is not needed.
  if (j.limit_processes > 0) {
    const int fd = ::open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
      dprintf(fd, "%llu\n",
              static_cast<unsigned long long>(j.limit_processes < 301 ? 301 : j.limit_processes));
      ::close(fd);
    }
  }
  // bubblewrap skips these covers for root in a user namespace, and root there
  // is root to the kernel's own files.
  for (const char* name : {"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"}) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%s", name);
    const int fd = open_beneath(AT_FDCWD, path, 0);
    if (fd < 0 && errno == ENOENT)
      continue;
    if (fd < 0)
      to_broker.fail(wire::stage::setup, errno, "open", path);
    if (const int error = mount_on_itself(fd, true))
      to_broker.fail(wire::stage::setup, error, "make read-only", path);
    ::close(fd);
  }
  // Names of the user's keys, which keyctl(2) is refused for.
  const int nothing = open_beneath(AT_FDCWD, "/dev/null", 0);
  for (const char* path : {"/proc/keys", "/proc/key-users"}) {
    const int fd = open_beneath(AT_FDCWD, path, 0);
    if (fd < 0 && errno == ENOENT) // a kernel without keys
      continue;
    if (const int error = fd < 0 ? errno : mount_over(fd, nothing, true))
      to_broker.fail(wire::stage::setup, error, "cover", path);
    ::close(fd);
  }
  ::close(nothing);
}

void open_listeners(const job& j, const link& to_broker) {
  int fds[wire::max_listeners] = {};
  unsigned count = 0;
  for (const wire::listener_record& l : j.listeners) {
    const int family = l.v6 ? AF_INET6 : AF_INET;
    const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && l.v6 && errno == EAFNOSUPPORT) { // a kernel without IPv6: nobody can ask for it
      fds[count++] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      continue;
    }
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int rc;
    if (l.v6) {
      sockaddr_in6 a{};
      a.sin6_family = AF_INET6;
      a.sin6_port = htons(l.port);
      a.sin6_addr = in6addr_loopback;
      ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      rc = ::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a);
      if (rc != 0 && errno == EADDRNOTAVAIL) { // ::1 is switched off on this machine
        ::close(fd);
        fds[count++] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        continue;
      }
    } else {
      sockaddr_in a{};
      a.sin_family = AF_INET;
      a.sin_port = htons(l.port);
      a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      rc = ::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a);
    }
    if (rc != 0 || ::listen(fd, 1024) != 0) {
      char port[24];
      std::snprintf(port, sizeof port, "%u", l.port);
      to_broker.fail(wire::stage::setup, errno, "listen inside the sandbox on port", port);
    }
    fds[count++] = fd;
  }
  to_broker.send_descriptors(fds, count);
  for (unsigned i = 0; i < count; ++i)
    ::close(fds[i]);
}

void limit_damage(const job&) {
  // Under memory pressure the sandbox goes before the rest of the machine.
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    dprintf(fd, "300\n");
    ::close(fd);
  }
  // The host's session keyring must not be reachable; a new anonymous one is.
  ::syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, nullptr);
}

void drop_capabilities(const link& to_broker, unsigned long long kept) {
  for (int cap = 0; cap <= CAP_LAST_CAP + 8; ++cap)
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EINVAL)
      to_broker.fail(wire::stage::setup, errno, "drop capabilities");
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  data[0].effective = data[0].permitted = static_cast<unsigned>(kept);
  data[1].effective = data[1].permitted = static_cast<unsigned>(kept >> 32);
  if (::syscall(SYS_capset, &head, data) != 0)
    to_broker.fail(wire::stage::setup, errno, "drop capabilities");
}

} // namespace piorch::init
