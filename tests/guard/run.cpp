// Runs a command under the create guard alone: PID 1 of a plain bubblewrap sandbox, as
// piorch-init is. For tests and benchmarks.
//
//   guard-run [--absent PATH | --directory PATH | --plain PATH | --in-trees PATH |
//     --in-linked-trees PATH | --refusals FD | --filter FILE | --off | --older-kernel |
//     --no-nameless-files]... -- COMMAND...
//
// FILE holds a system call filter as the kernel takes it: joined to the guard's as in a sandbox,
// or with --off installed alone.
#include "sandbox/guard/supervisor.hpp"
#include "tests/support/older_kernel.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

using namespace piorch::sandbox::guard;

namespace {

void keep_capabilities(unsigned kept) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  ::syscall(SYS_capget, &head, data);
  kept &= data[0].permitted;
  data[0] = data[1] = {};
  data[0].effective = data[0].permitted = kept;
  if (::syscall(SYS_capset, &head, data) != 0) {
    std::perror("guard-run: capset");
    ::_exit(125);
  }
}

std::vector<sock_filter> read_filter(const char* path) {
  std::vector<sock_filter> out(BPF_MAXINSNS);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const auto n = ::read(fd, out.data(), out.size() * sizeof(sock_filter));
  if (n <= 0 || static_cast<std::size_t>(n) % sizeof(sock_filter) != 0) {
    std::perror("guard-run: --filter");
    ::_exit(125);
  }
  ::close(fd);
  out.resize(static_cast<std::size_t>(n) / sizeof(sock_filter));
  return out;
}

// O_TMPFILE is refused from now on, as by the file systems that do not have it.
bool forget_nameless_files() {
  constexpr unsigned nameless = O_TMPFILE & ~O_DIRECTORY;
  sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_openat},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + 16},
      {BPF_JMP | BPF_JSET | BPF_K, 0, 1, nameless},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

void tell(void* context, const char* path, const char* rule) {
  dprintf(*static_cast<int*>(context), "%s: %s\n", path, rule);
}

} // namespace

int main(int argc, char** argv) {
  std::vector<rule> protect;
  static int refusals = -1;
  static std::vector<sock_filter> filter;
  bool off = false, older = false, no_nameless = false;
  char* workspace = ::get_current_dir_name();
  const auto add = [&](rule_kind kind, const char* path) {
    const std::size_t base = std::strlen(workspace);
    protect.push_back({kind, path, std::strncmp(path, workspace, base) == 0 ? base : 0});
  };
  int i = 1;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string_view option = argv[i];
    if (option == "--off") {
      off = true;
    } else if (option == "--older-kernel") {
      older = true;
    } else if (option == "--no-nameless-files") {
      no_nameless = true;
    } else if (i + 1 == argc) {
      return 2;
    } else if (option == "--absent") {
      add(rule_kind::absent, argv[++i]);
    } else if (option == "--directory") {
      add(rule_kind::directory, argv[++i]);
    } else if (option == "--plain") {
      add(rule_kind::plain, argv[++i]);
    } else if (option == "--in-trees") {
      add(rule_kind::in_trees, argv[++i]);
    } else if (option == "--in-linked-trees") {
      add(rule_kind::in_linked_trees, argv[++i]);
    } else if (option == "--filter") {
      filter = read_filter(argv[++i]);
    } else if (option == "--refusals") {
      refusals = std::atoi(argv[++i]);
    } else {
      return 2;
    }
  }
  if (i + 1 >= argc)
    return 2;
  argv += i + 1;
  if (refusals >= 0)
    ::fcntl(refusals, F_SETFD, FD_CLOEXEC);
  if ((older && !piorch::test::pretend_older_kernel()) || (no_nameless && !forget_nameless_files()))
    return 125;
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  handoff h;
  if (!make_handoff(h))
    return 125;
  const pid_t command = ::fork();
  if (command == 0) {
    keep_capabilities(0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    const int e =
        !off ? install_and_hand_over(h.command, program)
        : filter.empty() || ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
            ? 0
            : -errno;
    if (e < 0) {
      std::fprintf(stderr, "guard-run: install: %s\n", std::strerror(-e));
      ::_exit(125);
    }
    ::execvp(argv[0], argv);
    std::fprintf(stderr, "guard-run: %s: %s\n", argv[0], std::strerror(errno));
    ::_exit(127);
  }
  ::close(h.command);
  keep_capabilities(off ? 0 : 1u << CAP_SYS_PTRACE);
  if (!off)
    if (const int e = start_supervisor(h.supervisor, protect, {workspace},
                                       {refusals >= 0 ? tell : nullptr, &refusals});
        e < 0) {
      std::fprintf(stderr, "guard-run: start: %s\n", std::strerror(-e));
      return 125;
    }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, 0)) != command;)
    if (pid < 0 && errno != EINTR)
      return 125;
  if (::getpid() == 1 && ::kill(-1, SIGKILL) == 0) // elsewhere that would be everything
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  end_supervisor();
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
