// Around the filter and against the supervisor.
#include "villain.hpp"

#include "tests/support/calls_32.hpp"

#include <csignal>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace villain {

namespace {

#if defined(__x86_64__)
// A system call of the 32-bit ABI; its strings must lie below 4 GiB.
long call32(long number, const char* path, long b, long c) {
  void* low =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  std::strcpy(static_cast<char*>(low), path);
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "0"(number), "b"(low), "c"(b), "d"(c)
               : "memory", "r8", "r9", "r10", "r11");
  return result;
}
#endif

void ring_open() {
  io_uring_params p{};
  const int ring = static_cast<int>(::syscall(SYS_io_uring_setup, 4, &p));
  if (ring < 0)
    return;
  const std::size_t bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
  auto* sq = static_cast<char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING));
  auto* entries =
      static_cast<io_uring_sqe*>(::mmap(nullptr, p.sq_entries * sizeof(io_uring_sqe),
                                        PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES));
  entries[0] = {};
  entries[0].opcode = IORING_OP_OPENAT;
  entries[0].fd = AT_FDCWD;
  entries[0].addr = reinterpret_cast<unsigned long>(".env");
  entries[0].open_flags = O_CREAT | O_RDWR;
  entries[0].len = 0644;
  reinterpret_cast<unsigned*>(sq + p.sq_off.array)[0] = 0;
  __atomic_store_n(reinterpret_cast<unsigned*>(sq + p.sq_off.tail), 1u, __ATOMIC_RELEASE);
  ::syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

void become_root_of_a_namespace() {
  const int uid = static_cast<int>(::getuid()), gid = static_cast<int>(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    std::perror("unshare");
  char map[64];
  write_file("/proc/self/setgroups", "deny");
  std::snprintf(map, sizeof map, "0 %d 1", uid);
  write_file("/proc/self/uid_map", map);
  std::snprintf(map, sizeof map, "0 %d 1", gid);
  write_file("/proc/self/gid_map", map);
}

// A filter of our own whose listener we answer ourselves: CONTINUE would let a call pass.
void own_listener() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{4, code};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int listener = static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  if (listener < 0) {
    write_file(".env", "x"); // at least try the plain way
    return;
  }
  if (::fork() == 0) {
    ::syscall(SYS_openat, AT_FDCWD, ".env", O_CREAT | O_RDWR, 0644);
    ::_exit(0);
  }
  seccomp_notif n{};
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n);
  seccomp_notif_resp r{};
  r.id = n.id;
  r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
  ::wait(nullptr);
}

// A filter that answers TRACE, with a tracer that skips nothing.
void traced() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    write_file(".env", "x");
    ::_exit(0);
  }
  int status;
  ::waitpid(child, &status, 0);
  while (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0) {
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status))
      return;
  }
}

} // namespace

void add_kernel_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    list.push_back({name, run, ""});
  };
  add("openat2", [](auto&) {
    open_how how{};
    how.flags = O_CREAT | O_RDWR;
    how.mode = 0644;
    ::syscall(SYS_openat2, AT_FDCWD, ".env", &how, sizeof how);
  });
  add("openat2-resolve", [](auto&) {
    open_how how{};
    how.flags = O_CREAT | O_RDWR;
    how.mode = 0644;
    how.resolve = RESOLVE_BENEATH;
    ::syscall(SYS_openat2, AT_FDCWD, ".env", &how, sizeof how);
  });
  add("io-uring", [](auto&) { ring_open(); });
#if defined(__x86_64__)
  if (piorch::test::has_calls_32()) {
    add("i386-open", [](auto&) { call32(5, ".env", O_CREAT | O_RDWR, 0644); });
    add("i386-creat", [](auto&) { call32(8, ".env", 0644, 0); });
    add("i386-mkdir", [](auto&) { call32(39, ".env", 0755, 0); });
    add("i386-mknod", [](auto&) { call32(14, ".env", S_IFREG | 0644, 0); });
  }
#endif
  add("second-listener", [](auto&) { own_listener(); });
  add("traced", [](auto&) { traced(); });
  add("nested-user-namespace", [](auto&) {
    become_root_of_a_namespace();
    write_file(".env", "x");
  });
  add("overlay-copy-up", [](auto&) {
    // A protected place as upper directory: copy-up makes the name without a creating call.
    ::mkdir("/tmp/lower", 0755);
    write_file("/tmp/lower/settings.json", "x");
    ::mkdir("work", 0755);
    ::mkdir(".pi", 0755);
    ::mkdir("/tmp/merged", 0755);
    char cwd[4096];
    const std::string here = ::getcwd(cwd, sizeof cwd);
    become_root_of_a_namespace();
    const std::string options =
        "lowerdir=/tmp/lower,upperdir=" + here + "/.pi,workdir=" + here + "/work,userxattr";
    if (::mount("overlay", "/tmp/merged", "overlay", 0, options.c_str()) != 0) {
      std::perror("overlay");
      return;
    }
    const int fd = ::open("/tmp/merged/settings.json", O_WRONLY);
    if (fd < 0 || ::write(fd, "y", 1) != 1)
      std::perror("copy-up");
  });
  add("bind-mount", [](auto&) {
    become_root_of_a_namespace();
    ::mkdir("/tmp/m", 0755);
    char cwd[4096];
    ::mount(::getcwd(cwd, sizeof cwd), "/tmp/m", nullptr, MS_BIND, nullptr);
    write_file("/tmp/m/.env", "x");
    write_file(".env", "x");
  });
  add("chroot", [](auto&) {
    char cwd[4096];
    const std::string here = ::getcwd(cwd, sizeof cwd);
    become_root_of_a_namespace();
    ::chroot(here.c_str());
    write_file("/.env", "x");
  });
  add("stop-the-supervisor", [](auto&) {
    ::kill(1, SIGSTOP);
    ::kill(1, SIGTERM);
    ::kill(1, SIGKILL);
    ::kill(1, SIGRTMIN + 1);
    write_file(".env", "x");
  });
  add("trace-the-supervisor", [](auto&) {
    ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr);
    ::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr);
    write_file(".env", "x");
  });
  add("supervisors-memory", [](auto&) {
    // PID 1's threads have numbers of their own.
    for (int id = 1; id < 8; ++id) {
      const std::string path = "/proc/" + std::to_string(id) + "/mem";
      const int fd = id == ::getpid() ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT, 0);
      char byte;
      if (fd >= 0 && ::pread(fd, &byte, 1, 0x400000) == 1)
        std::printf("READ THE SUPERVISOR %s\n", path.c_str());
    }
    write_file(".env", "x");
  });
  add("supervisors-cwd", [](auto&) {
    write_file("/proc/1/cwd/tmp/x", "x");
    char cwd[4096];
    write_file("/proc/1/root" + std::string(::getcwd(cwd, sizeof cwd)) + "/.env", "x");
    write_file(".env", "x");
  });
  add("process-vm", [](auto&) {
    char byte = 0;
    iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
    if (::process_vm_readv(1, &here, 1, &there, 1, 0) == 1)
      std::printf("READ THE SUPERVISOR\n");
    write_file(".env", "x");
  });
  add("core-file", [](auto&) {
    // Nothing of ours may fail because the caller dies in the middle.
    for (int i = 0; i < 20; ++i) {
      const pid_t child = ::fork();
      if (child == 0)
        for (;;)
          write_file(".env", "x");
      ::usleep(2000);
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  });
  add("handle", [](auto&) {
    // Without a path: a write open by file handle makes no name but would pass the filter.
    struct {
      file_handle head;
      unsigned char bytes[128];
    } h{};
    h.head.handle_bytes = sizeof h.bytes;
    int mount = 0;
    ::name_to_handle_at(AT_FDCWD, "plain.txt", &h.head, &mount, 0);
    ::open_by_handle_at(AT_FDCWD, &h.head, O_RDWR);
    write_file(".env", "x");
  });
}

} // namespace villain
