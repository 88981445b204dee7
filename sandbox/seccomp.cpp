#include "sandbox/seccomp.hpp"

#include "ipc/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <memory>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

constexpr int socket_type_mask = 15; // the rest of the argument are flags

constexpr std::uint32_t new_namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                         CLONE_NEWTIME;

constexpr std::array newer_calls{std::pair{"mount_setattr", 442}, std::pair{"quotactl_fd", 443},
                                 std::pair{"fchmodat2", 452}, std::pair{"open_tree_attr", 467}};
// Linux 6.18. What comes later is not known to be harmless, and every program
// has a way without it.
constexpr std::uint32_t last_known_call = 469;

class filter_builder {
public:
  filter_builder() : context_(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release) {
    if (!context_)
      failed_ = -ENOMEM;
    else
      check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }

  // Names that this architecture does not have are skipped. Calls that are newer
  // than libseccomp are looked up here; x86-64 and the generic table of the other
  // architectures number them alike since 424.
  template <class... Conditions> void refuse(const char* name, int error, Conditions... when) {
    int number = ::seccomp_syscall_resolve_name(name);
    for (const auto& [newer, its_number] : newer_calls)
      if (number == __NR_SCMP_ERROR && std::strcmp(name, newer) == 0)
        number = its_number;
    if (failed_ == 0 && number != __NR_SCMP_ERROR && number >= 0)
      check(::seccomp_rule_add(context_.get(), SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)),
                               number, sizeof...(when), when...));
  }

  result<std::vector<sock_filter>> build() {
    const ipc::unique_fd file(::memfd_create("filter", MFD_CLOEXEC));
    if (failed_ == 0 && !file)
      failed_ = -errno;
    // A binary tree over the calls' numbers: an open that only reads passes it every time.
    if (failed_ == 0)
      check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
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
    const std::array first{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last_known_call, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)};
    program.insert(program.begin(), first.begin(), first.end());
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

// A comparison with one value. (libseccomp's macros leave the second one out, which Clang
// warns of. Its 32-bit ones compare all 64 bits too: see TIOCSTI below.)
constexpr scmp_arg_cmp argument(unsigned number, scmp_compare how, scmp_datum_t with) {
  return {number, how, with, 0};
}

// What a sandbox makes belongs to the caller on the host: a set-user-ID file in
// the workspace, and of root's also a set-group-ID one, would be a way into that
// account for anybody there.
void refuse_privileged_modes(filter_builder& f) {
  for (const scmp_datum_t bit : {scmp_datum_t{S_ISUID}, scmp_datum_t{S_ISGID}}) {
    if (bit == S_ISGID && ::geteuid() != 0)
      continue; // an ordinary user's own group may share directories
    for (const char* name : {"chmod", "fchmod", "creat", "mknod"})
      f.refuse(name, EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
    for (const char* name : {"fchmodat", "fchmodat2", "mknodat"})
      f.refuse(name, EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
    // Without these flags the mode is an unused register.
    for (const scmp_datum_t flag :
         {scmp_datum_t{O_CREAT}, scmp_datum_t{O_TMPFILE & ~O_DIRECTORY}}) {
      f.refuse("open", EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag),
               SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
      f.refuse("openat", EPERM, SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag),
               SCMP_A3(SCMP_CMP_MASKED_EQ, bit, bit));
    }
  }
  f.refuse("openat2", ENOSYS); // its mode is in memory; callers fall back
}

} // namespace

result<std::vector<sock_filter>> make_filter() {
  filter_builder f;
  for (const char* name : refused)
    f.refuse(name, EPERM);

  // Only the Internet families and routing information (Node lists interfaces
  // with it). socketpair(2) stays: it reaches nobody.
  for (int family = 0; family < AF_MAX; ++family)
    if (family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
      f.refuse("socket", EPERM, argument(0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
  f.refuse("socket", EPERM, argument(0, SCMP_CMP_GE, AF_MAX));

  // A datagram pair could be connected anew, to a socket file of the host's
  // (/dev/log, say); streams and sequenced packets cannot. AF_UNIX takes SOCK_RAW
  // for a datagram socket as well.
  for (int type = 0; type <= socket_type_mask; ++type)
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
      f.refuse("socketpair", EPERM,
               SCMP_A1(SCMP_CMP_MASKED_EQ, socket_type_mask, static_cast<scmp_datum_t>(type)));

  // Limits of another process, which may be piorch-init (same user, and no capability or
  // dumpable flag is asked for): without descriptors its guard would be blind.
  f.refuse("prlimit64", EPERM, argument(0, SCMP_CMP_NE, 0), argument(2, SCMP_CMP_NE, 0));

  refuse_privileged_modes(f);

  // Typing into the caller's terminal (CVE-2016-2781 and its kin). The kernel
  // looks at the low 32 bits only, and so must the filter (CVE-2019-7303): SCMP_A1_32
  // does not, it compares the upper half with zero.
  for (const unsigned request : {static_cast<unsigned>(TIOCSTI), 0x541Cu /* TIOCLINUX */})
    f.refuse("ioctl", EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFFu, request));

  // A terminal that nobody else can open, or with another line discipline, would stay
  // so after the command.
  for (const unsigned request : {static_cast<unsigned>(TIOCEXCL), static_cast<unsigned>(TIOCSETD)})
    f.refuse("ioctl", EPERM, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFFu, request));

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
