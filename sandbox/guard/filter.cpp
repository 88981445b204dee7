#include "sandbox/guard/filter.hpp"

#include "sandbox/guard/kernel.hpp"

#include <asm/unistd.h>
#include <linux/audit.h>

namespace piorch::sandbox::guard {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_AARCH64;
#else
#error "the create guard knows x86-64 and AArch64"
#endif

constexpr std::uint32_t refuse(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

// BTRFS SUBVOL_CREATE, SNAP_CREATE, SUBVOL_CREATE_V2, SNAP_CREATE_V2,
// OCFS2_IOC_REFLINK, BCH_IOCTL_SUBVOLUME_CREATE.
constexpr std::uint32_t naming_ioctls[] = {0x5000940e, 0x50009401, 0x50009418,
                                           0x50009417, 0x40186f04, 0x4020bc10};

class program {
public:
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void load_argument(std::size_t n) { load(offsetof(seccomp_data, args) + 8 * n); } // low half
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void jump(std::uint16_t test, std::uint32_t k, std::uint8_t yes, std::uint8_t no) {
    code_.push_back(sock_filter{static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), yes, no, k});
  }
  void on(std::uint32_t number, std::uint32_t action) {
    jump(BPF_JEQ, number, 0, 1);
    answer(action);
  }
  void on_open(std::uint32_t number, std::size_t flags_argument) {
    constexpr std::uint32_t unnamed = O_PATH | (O_TMPFILE & ~O_DIRECTORY);
    constexpr std::uint32_t changes = O_CREAT | O_WRONLY | O_RDWR | O_TRUNC;
    jump(BPF_JEQ, number, 0, 5);
    load_argument(flags_argument);
    jump(BPF_JSET, unnamed, 2, 0);
    jump(BPF_JSET, changes, 0, 1);
    answer(SECCOMP_RET_USER_NOTIF);
    answer(SECCOMP_RET_ALLOW);
  }
  void on_naming_ioctl() {
    constexpr auto count = sizeof naming_ioctls / sizeof *naming_ioctls;
    jump(BPF_JEQ, __NR_ioctl, 0, 2 + 2 * count);
    load_argument(1);
    for (auto request : naming_ioctls) {
      jump(BPF_JEQ, request, 0, 1);
      answer(refuse(EPERM));
    }
    answer(SECCOMP_RET_ALLOW);
  }
  std::vector<sock_filter> take() { return std::move(code_); }

private:
  void add(unsigned code, std::uint32_t k) {
    code_.push_back(sock_filter{static_cast<std::uint16_t>(code), 0, 0, k});
  }
  std::vector<sock_filter> code_;
};

} // namespace

std::vector<sock_filter> creating_calls_filter() {
  program p;
  p.load(offsetof(seccomp_data, arch));
  p.jump(BPF_JEQ, native_arch, 1, 0);
  p.answer(SECCOMP_RET_KILL_PROCESS);
  p.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  p.jump(BPF_JGE, 0x40000000, 0, 1); // x32
  p.answer(refuse(ENOSYS));
  p.on_open(__NR_open, 1);
#endif
  p.on_open(__NR_openat, 2);
  constexpr std::uint32_t notified[] = {
#if defined(__x86_64__)
    __NR_creat,
    __NR_mkdir,
    __NR_mknod,
    __NR_symlink,
    __NR_link,
    __NR_rename,
#endif
#if defined(__NR_renameat)
    __NR_renameat,
#endif
    __NR_mkdirat,
    __NR_mknodat,
    __NR_symlinkat,
    __NR_linkat,
    __NR_renameat2,
    __NR_truncate,
    __NR_bind,
    __NR_umask,
  };
  for (auto number : notified)
    p.on(number, SECCOMP_RET_USER_NOTIF);
  p.on(__NR_openat2, refuse(ENOSYS));
  p.on(__NR_open_by_handle_at, refuse(EPERM));
  p.on(__NR_io_uring_setup, refuse(ENOSYS));
  p.on(__NR_io_uring_enter, refuse(ENOSYS));
  p.on(__NR_io_uring_register, refuse(ENOSYS));
  p.on_naming_ioctl();
  p.answer(SECCOMP_RET_ALLOW);
  return p.take();
}

std::vector<sock_filter> joined_filter(const sock_fprog& first) {
  std::vector<sock_filter> out(first.filter, first.filter + first.len);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].code == (BPF_RET | BPF_K) && out[i].k == SECCOMP_RET_ALLOW)
      out[i] = {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(out.size() - i - 1)};
  const auto own = creating_calls_filter();
  out.insert(out.end(), own.begin(), own.end());
  return out.size() <= BPF_MAXINSNS ? out : std::vector<sock_filter>();
}

namespace {

// Can a descriptor be given and the call be answered in one (5.14)? Then there is no such call.
bool can_give_descriptors(int listener) {
  seccomp_notif_addfd nobody{};
  nobody.flags = SECCOMP_ADDFD_FLAG_SEND;
  nobody.srcfd = static_cast<__u32>(listener);
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &nobody) == 0 || errno == ENOENT;
}

} // namespace

int install_filter(const sock_fprog& first, bool& interruptible) {
  auto code = joined_filter(first);
  if (code.empty())
    return -E2BIG;
  sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  // WAIT_KILLABLE_RECV: once the supervisor has a call, only a fatal signal takes the
  // caller away, so a call is never carried out and then restarted.
  unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  int listener = status(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter));
  interruptible = listener == -EINVAL;
  if (interruptible) {
    flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    listener = status(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter));
    if (listener >= 0 && !can_give_descriptors(listener)) {
      ::close(listener);
      return -EINVAL;
    }
  }
  return listener;
}

} // namespace piorch::sandbox::guard
