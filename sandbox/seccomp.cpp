#include "sandbox/seccomp.hpp"

#include "ipc/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/sched.h>
#include <memory>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

// Refused with EPERM, whatever their arguments.
constexpr std::array refused{
    // other ways to do I/O, which no later filter sees
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    // the mount family and file handles: protections are mounts
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "open_tree_attr", "open_by_handle_at", "setns",
    // keys of the host's user
    "keyctl", "add_key", "request_key",
    // kernel surface that no development tool needs
    "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "iopl", "ioperm", "swapon", "swapoff", "reboot", "acct",
    "quotactl", "quotactl_fd", "syslog", "vhangup", "nfsservctl", "lookup_dcookie", "settimeofday",
    "clock_settime", "clock_adjtime", "adjtimex", "stime", "fanotify_init"};

constexpr std::uint32_t new_namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                         CLONE_NEWTIME;

class filter_builder {
public:
  filter_builder() : context_(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release) {
    if (!context_)
      failed_ = -ENOMEM;
    else
      check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }

  // Names that this libseccomp or this architecture does not know are skipped:
  // there is no such call to make then.
  template <class... Conditions> void refuse(const char* name, int error, Conditions... when) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (failed_ == 0 && number != __NR_SCMP_ERROR && number >= 0)
      check(::seccomp_rule_add(context_.get(), SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)),
                               number, sizeof...(when), when...));
  }

  result<std::vector<sock_filter>> build() {
    const ipc::unique_fd file(::memfd_create("filter", MFD_CLOEXEC));
    if (failed_ == 0 && !file)
      failed_ = -errno;
    if (failed_ == 0)
      check(::seccomp_export_bpf(context_.get(), file.get()));
    struct stat st {};
    if (failed_ == 0 && ::fstat(file.get(), &st) != 0)
      failed_ = -errno;
    if (failed_ != 0)
      return error{failure::sandbox_unavailable,
                   std::string("cannot build the system call filter: ") + std::strerror(-failed_)};
    std::vector<sock_filter> program(static_cast<std::size_t>(st.st_size) / sizeof(sock_filter));
    if (::pread(file.get(), program.data(), program.size() * sizeof(sock_filter), 0) != st.st_size)
      return error{failure::sandbox_unavailable, "cannot read the system call filter back"};
    return program;
  }

private:
  void check(int rc) {
    if (rc < 0 && failed_ == 0)
      failed_ = rc;
  }
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int failed_ = 0;
};

} // namespace

result<std::vector<sock_filter>> make_filter() {
  filter_builder f;
  for (const char* name : refused)
    f.refuse(name, EPERM);

  // Only the Internet families and routing information (Node lists interfaces
  // with it). socketpair(2) stays: it reaches nobody.
  for (int family = 0; family < AF_MAX; ++family)
    if (family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
      f.refuse("socket", EPERM, SCMP_A0_32(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
  f.refuse("socket", EPERM, SCMP_A0_32(SCMP_CMP_GE, static_cast<scmp_datum_t>(AF_MAX)));

  // Typing into the caller's terminal (CVE-2016-2781 and its kin). The kernel
  // looks at the low 32 bits only, and so does the filter.
  f.refuse("ioctl", EPERM, SCMP_A1_32(SCMP_CMP_EQ, TIOCSTI));
  f.refuse("ioctl", EPERM, SCMP_A1_32(SCMP_CMP_EQ, 0x541C /* TIOCLINUX */));

  // New namespaces would bring back capabilities and mounts. clone3 hides its
  // flags in memory; glibc and others fall back on ENOSYS.
  f.refuse("clone3", ENOSYS);
  for (int bit = 0; bit < 32; ++bit)
    if (new_namespaces & (1u << bit)) {
      const scmp_datum_t flag = scmp_datum_t{1} << bit;
      f.refuse("unshare", EPERM, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
      // clone(2) takes CLONE_NEWTIME's bit as part of the exit signal
      if (flag != CLONE_NEWTIME)
        f.refuse("clone", EPERM, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    }
  return f.build();
}

} // namespace piorch::sandbox
