// The villain of the tests: one mode for each thing that a shell cannot do. Every
// mode prints one line, "ok" or the name of the error, and exits 0; static, so that
// it runs wherever it is copied.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

int say(long result) {
  std::puts(result >= 0 ? "ok" : strerrorname_np(errno));
  return 0;
}

struct mode {
  const char* name;
  int words;
  long (*act)(char** words);
};

long exchange(char** w) {
  return ::syscall(SYS_renameat2, AT_FDCWD, w[0], AT_FDCWD, w[1], RENAME_EXCHANGE);
}
long type_into_terminal(char**) { return ::ioctl(0, TIOCSTI, "x"); }
// The kernel looks at 32 bits of the request only.
long type_with_high_bits(char**) { return ::syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, "x"); }
long session_keyring(char**) { return ::syscall(SYS_keyctl, 0, -3, 0, 0, 0); }
long message_queue(char** w) { return ::mq_open(w[0], O_RDONLY); }
long trace(char** w) { return ::ptrace(PTRACE_ATTACH, std::atoi(w[0]), nullptr, nullptr); }
long read_memory(char** w) {
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  return ::process_vm_readv(std::atoi(w[0]), &here, 1, &there, 1, 0);
}
long unix_socket(char**) { return ::socket(AF_UNIX, SOCK_STREAM, 0); }
long unix_socket_with_high_bits(char**) {
  return ::syscall(SYS_socket, 0x100000000ul | AF_UNIX, SOCK_STREAM, 0);
}
long socket_pair(char**) {
  int fds[2];
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}
// Which descriptors are open here: printed instead of "ok".
long descriptors(char**) {
  for (int fd = 0; fd < 1024; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0)
      std::printf("%d ", fd);
  return 0;
}
// Makes children that live until the end, until the kernel says no.
long fork_all(char** w) {
  const int most = std::atoi(w[0]);
  int count = 0;
  for (; count < most; ++count) {
    const pid_t pid = ::fork();
    if (pid < 0)
      break;
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  std::printf("%d ", count);
  return count == most ? 0 : -1;
}
long leak(char** w) {
  for (long left = std::atol(w[0]); left > 0; --left) {
    void* block = std::malloc(1u << 20);
    if (!block)
      return -1;
    std::memset(block, 1, 1u << 20);
    asm volatile("" : : "r"(block) : "memory");
  }
  return 0;
}

constexpr mode modes[] = {{"exchange", 2, exchange},
                          {"tiocsti", 0, type_into_terminal},
                          {"tiocsti-high", 0, type_with_high_bits},
                          {"keyring", 0, session_keyring},
                          {"mq", 1, message_queue},
                          {"ptrace", 1, trace},
                          {"vm-read", 1, read_memory},
                          {"unix", 0, unix_socket},
                          {"unix-high", 0, unix_socket_with_high_bits},
                          {"socketpair", 0, socket_pair},
                          {"fds", 0, descriptors},
                          {"fork", 1, fork_all},
                          {"leak", 1, leak}};

} // namespace

int main(int argc, char** argv) {
  for (const mode& m : modes)
    if (argc == 2 + m.words && std::strcmp(argv[1], m.name) == 0)
      return say(m.act(argv + 2));
  std::fputs("piorch-test-helper: no such mode\n", stderr);
  return 2;
}
