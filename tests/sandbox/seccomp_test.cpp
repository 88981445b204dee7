// The filter in a process of its own: what is refused, how, and what still works.
#include "sandbox/seccomp.hpp"

#include "tests/support/calls_32.hpp"

#include <cerrno>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

// errno of a call under the filter (0: it worked), in a child that no privilege
// explains; 255 when the filter cannot be loaded.
int under_filter(const std::function<long()>& call) {
  const auto filter = make_filter();
  EXPECT_TRUE(filter) << filter.failed().text;
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto copy = *filter;
    const sock_fprog program{static_cast<unsigned short>(copy.size()), copy.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
      ::_exit(255);
    errno = 0;
    ::_exit(call() >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <class... Arguments> int call(long number, Arguments... a) {
  return under_filter([=] { return ::syscall(number, a...); });
}

TEST(SandboxSeccomp, RefusedWhateverTheArguments) {
  for (const long number : {SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_chroot,
                            SYS_open_tree,
                            SYS_move_mount,
                            SYS_fsopen,
                            SYS_fsconfig,
                            SYS_fsmount,
                            SYS_fspick,
                            SYS_mount_setattr,
                            SYS_setns,
                            SYS_open_by_handle_at,
                            SYS_keyctl,
                            SYS_add_key,
                            SYS_request_key,
                            SYS_bpf,
                            SYS_perf_event_open,
                            SYS_userfaultfd,
                            SYS_io_uring_setup,
                            SYS_io_uring_enter,
                            SYS_io_uring_register,
                            SYS_init_module,
                            SYS_reboot,
                            SYS_swapon,
                            SYS_quotactl,
                            SYS_kexec_load,
                            SYS_fanotify_init})
    EXPECT_EQ(call(number, 0L, 0L, 0L, 0L, 0L), EPERM) << number;
}

TEST(SandboxSeccomp, NewNamespaces) {
  for (const long flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
                          CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME}) {
    EXPECT_EQ(call(SYS_unshare, flag), EPERM) << flag;
    EXPECT_EQ(call(SYS_unshare, flag | CLONE_FILES), EPERM) << flag;
    if (flag != CLONE_NEWTIME) {
      EXPECT_EQ(call(SYS_clone, flag | SIGCHLD, 0L, 0L, 0L, 0L), EPERM) << flag;
    }
  }
  EXPECT_EQ(call(SYS_clone3, 0L, 0L), ENOSYS) << "libraries fall back on clone then";
  EXPECT_EQ(under_filter([] { return ::fork() == 0 ? (::_exit(0), 0) : 0; }), 0);
}

TEST(SandboxSeccomp, SocketFamilies) {
  for (const int family :
       {AF_UNIX, AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_TIPC, AF_KEY, AF_MAX, -1, 4096})
    EXPECT_EQ(call(SYS_socket, static_cast<long>(family), static_cast<long>(SOCK_STREAM), 0L),
              EPERM)
        << family;
  // The kernel takes the low 32 bits; the filter must not be led astray by the others.
  EXPECT_EQ(call(SYS_socket, 0x100000000L | AF_UNIX, static_cast<long>(SOCK_STREAM), 0L), EPERM);
  for (const int family : {AF_INET, AF_INET6})
    EXPECT_NE(call(SYS_socket, static_cast<long>(family), static_cast<long>(SOCK_STREAM), 0L),
              EPERM);
  EXPECT_EQ(under_filter([] {
              int fds[2];
              return static_cast<long>(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
            }),
            0);
}

TEST(SandboxSeccomp, TypingIntoATerminal) {
  for (const long request : {static_cast<long>(TIOCSTI), 0x541CL, 0x100000000L | TIOCSTI,
                             static_cast<long>(0xFFFFFFFF00000000UL | TIOCSTI), 0x10000541CL})
    EXPECT_EQ(call(SYS_ioctl, 0L, request, 0L), EPERM) << request;
  EXPECT_NE(call(SYS_ioctl, -1L, static_cast<long>(TIOCGWINSZ), 0L), EPERM);
}

#if defined(__x86_64__)
TEST(SandboxSeccomp, NoForeignAbi) {
  const int x32 = call(0x40000000L | SYS_getpid);
  EXPECT_TRUE(x32 == -SIGSYS || x32 == ENOSYS) << x32;
}

TEST(SandboxSeccomp, NoCallsOfThe32BitAbi) {
  if (!test::has_calls_32())
    GTEST_SKIP() << "this machine takes none at all";
  EXPECT_EQ(under_filter([] {
              long result = 20; // getpid
              asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
              return result;
            }),
            -SIGSYS)
      << "32 bit";
}
#endif

} // namespace
} // namespace piorch::sandbox
