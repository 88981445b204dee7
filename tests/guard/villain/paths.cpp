// Ways to one protected name that are not a matter of spelling.
#include "villain.hpp"

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

extern char** environ;

namespace villain {

namespace {

void create(const char* path) {
  if (::open(path, O_WRONLY | O_CREAT, 0644) < 0)
    std::perror(path);
}
void bind_to(const char* path) {
  int pair[2]; // the sandbox makes no other Unix sockets
  ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::strcpy(a.sun_path, path);
  if (::bind(pair[0], reinterpret_cast<sockaddr*>(&a), sizeof a) != 0)
    std::perror("bind");
}
void in_child(void (*run)()) {
  if (::fork() == 0) {
    run();
    ::_exit(0);
  }
  ::wait(nullptr);
}
void env() { create(".env"); }

} // namespace

void add_path_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    list.push_back({name, run, ""});
  };
  add("creat", [](auto&) { ::creat(".env", 0644); });
  add("old-open", [](auto&) { ::syscall(SYS_open, ".env", O_CREAT | O_RDWR, 0644); });
  add("old-mkdir", [](auto&) { ::syscall(SYS_mkdir, ".env", 0755); });
  add("old-mknod", [](auto&) { ::syscall(SYS_mknod, ".env", S_IFREG | 0644, 0); });
  add("old-symlink", [](auto&) { ::syscall(SYS_symlink, "x", ".env"); });
  add("old-link", [](auto&) { ::syscall(SYS_link, "plain.txt", ".env"); });
  add("old-rename", [](auto&) { ::syscall(SYS_rename, "plain.txt", ".env"); });
  add("old-renameat",
      [](auto&) { ::syscall(SYS_renameat, AT_FDCWD, "plain.txt", AT_FDCWD, ".env"); });
  add("rename-whiteout", [](auto&) {
    if (::syscall(SYS_renameat2, AT_FDCWD, "plain.txt", AT_FDCWD, ".env", 4) != 0)
      ::rename("plain.txt", ".env");
  });
  add("bind", [](auto&) { bind_to(".env"); });
  add("bind-absolute", [](auto&) {
    char cwd[4096];
    bind_to((std::string(::getcwd(cwd, sizeof cwd)) + "/.env").c_str());
  });
  add("bind-up", [](auto&) { bind_to("sub/../.env"); });
  add("bind-proc", [](auto&) { bind_to("/proc/self/cwd/.env"); });
  add("dangling-link", [](auto&) {
    ::symlink(".env", "l");
    create("l");
  });
  add("dangling-link-chain", [](auto&) {
    ::symlink(".env", "way1");
    ::symlink("sub/../way1", "way2");
    create("way2");
  });
  add("dangling-link-absolute", [](auto&) {
    char cwd[4096];
    ::symlink((std::string(::getcwd(cwd, sizeof cwd)) + "/.env").c_str(), "sub/way");
    create("sub/way");
  });
  add("dangling-link-proc", [](auto&) {
    ::symlink("/proc/self/cwd/.env", "l");
    create("l");
  });
  add("link-tmpfile-empty-path", [](auto&) {
    const int fd = ::open(".", O_TMPFILE | O_RDWR, 0644);
    if (::linkat(fd, "", AT_FDCWD, ".env", AT_EMPTY_PATH) != 0) {
      // Needs a right of its own on older kernels; then the same through procfs.
      const std::string name = "/proc/thread-self/fd/" + std::to_string(fd);
      ::linkat(AT_FDCWD, name.c_str(), AT_FDCWD, ".env", AT_SYMLINK_FOLLOW);
    }
  });
  add("wide-characters-of-flags", [](auto&) {
    // The kernel looks at the low half of the flags only, and so must the filter.
    ::syscall(SYS_openat, AT_FDCWD, ".env", 0x7fffffff00000000L | O_CREAT | O_RDWR, 0644);
  });
  add("wide-dirfd", [](auto&) {
    ::syscall(SYS_openat, 0x1234500000000L | (unsigned)AT_FDCWD, ".env", O_CREAT | O_RDWR, 0644);
  });
  add("in-child", [](auto&) { in_child(env); });
  add("in-grandchild", [](auto&) { in_child([] { in_child(env); }); });
  add("in-vfork", [](auto&) {
    if (::vfork() == 0) {
      ::syscall(SYS_openat, AT_FDCWD, ".env", O_CREAT | O_RDWR, 0644);
      ::_exit(0);
    }
    ::wait(nullptr);
  });
  add("in-thread", [](auto&) {
    pthread_t t;
    ::pthread_create(
        &t, nullptr,
        [](void*) -> void* {
          env();
          return nullptr;
        },
        nullptr);
    ::pthread_join(t, nullptr);
  });
  add("in-thread-with-own-directory", [](auto&) {
    ::chdir("sub");
    pthread_t t;
    ::pthread_create(
        &t, nullptr,
        [](void*) -> void* {
          ::unshare(CLONE_FS);
          ::chdir("..");
          env();
          return nullptr;
        },
        nullptr);
    ::pthread_join(t, nullptr);
  });
  add("in-thread-with-own-files", [](auto&) {
    pthread_t t;
    ::pthread_create(
        &t, nullptr,
        [](void*) -> void* {
          ::unshare(CLONE_FILES);
          const int d = ::open(".", O_RDONLY | O_DIRECTORY);
          ::chdir("/");
          ::openat(d, ".env", O_CREAT | O_RDWR, 0644);
          return nullptr;
        },
        nullptr);
    ::pthread_join(t, nullptr);
  });
  add("in-orphan", [](auto&) {
    int end[2]; // open as long as the orphan lives
    ::pipe(end);
    if (::fork() == 0) {
      ::close(end[0]);
      if (::fork() == 0) {
        ::setsid();
        env();
        ::_exit(0);
      }
      ::_exit(0);
    }
    ::close(end[1]);
    ::wait(nullptr);
    char none;
    while (::read(end[0], &none, 1) > 0) {
    }
  });
  add("through-shell", [](auto&) {
    char* arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                         const_cast<char*>("echo x > .env"), nullptr};
    pid_t pid;
    ::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environ);
    ::waitpid(pid, nullptr, 0);
  });
  add("not-dumpable", [](auto&) {
    ::syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 0, 0, 0, 0);
    env();
  });
  add("directory-from-another-process", [](auto&) {
    int pair[2];
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    char control[CMSG_SPACE(sizeof(int))]{}, byte = 0;
    iovec part{&byte, 1};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    if (::fork() == 0) {
      const int fd = ::open(".", O_PATH);
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof fd);
      std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
      ::sendmsg(pair[1], &m, 0);
      ::_exit(0);
    }
    ::chdir("/");
    ::recvmsg(pair[0], &m, 0);
    int fd;
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    ::openat(fd, ".env", O_CREAT | O_RDWR, 0644);
  });

  // .pi/settings.json, of which not even the directory exists.
  add("pi-plain", [](auto&) {
    ::mkdir(".pi", 0755);
    create(".pi/settings.json");
  });
  add("pi-renamed-directory", [](auto&) {
    ::mkdir("x", 0755);
    create("x/settings.json");
    ::rename("x", ".pi");
  });
  add("pi-renamed-directory-over-empty", [](auto&) {
    ::mkdir("x", 0755);
    create("x/settings.json");
    ::mkdir(".pi", 0755);
    ::rename("x", ".pi");
  });
  add("pi-exchanged-directory", [](auto&) {
    ::mkdir("x", 0755);
    create("x/settings.json");
    ::mkdir(".pi", 0755);
    ::syscall(SYS_renameat2, AT_FDCWD, "x", AT_FDCWD, ".pi", 2);
  });
  add("pi-exchanged-the-other-way", [](auto&) {
    ::mkdir("x", 0755);
    create("x/settings.json");
    ::mkdir(".pi", 0755);
    ::syscall(SYS_renameat2, AT_FDCWD, ".pi", AT_FDCWD, "x", 2);
  });
  add("pi-away-and-back", [](auto&) {
    ::mkdir(".pi", 0755);
    ::rename(".pi", "x");
    create("x/settings.json");
    ::rename("x", ".pi");
  });
  add("pi-linked-directory", [](auto&) {
    ::mkdir("x", 0755);
    create("x/settings.json");
    ::symlink("x", ".pi");
  });
  add("pi-directory-in-hand", [](auto&) {
    ::mkdir(".pi", 0755);
    const int d = ::open(".pi", O_RDONLY | O_DIRECTORY);
    ::openat(d, "settings.json", O_CREAT | O_RDWR, 0644);
  });
  add("pi-from-inside", [](auto&) {
    ::mkdir(".pi", 0755);
    ::chdir(".pi");
    create("settings.json");
  });
  add("pi-renamed-file", [](auto&) {
    ::mkdir(".pi", 0755);
    ::rename("plain.txt", ".pi/settings.json");
  });
  add("pi-linked-file", [](auto&) {
    ::mkdir(".pi", 0755);
    ::link("plain.txt", ".pi/settings.json");
  });
  add("pi-made-of-file", [](auto&) {
    ::mkdir(".pi", 0755);
    ::symlink("../plain.txt", ".pi/settings.json");
  });
  add("pi-link-in-the-middle", [](auto&) {
    ::mkdir(".pi", 0755);
    ::symlink(".pi", "a");
    ::symlink("a", "b");
    create("b/settings.json");
  });
  add("pi-removed-in-between", [](auto&) {
    ::mkdir(".pi", 0755);
    ::rmdir(".pi");
    ::mkdir(".pi", 0755);
    create(".pi/settings.json");
  });

  // real/x.conf, protected as way/x.conf with way -> real.
  add("resolved-name", [](auto&) { create("real/x.conf"); });
  add("resolved-name-without-link", [](auto&) {
    ::unlink("way");
    create("real/x.conf");
  });
  add("link-replaced-by-directory", [](auto&) {
    ::unlink("way");
    ::mkdir("way", 0755);
    create("way/x.conf");
  });
  add("resolved-parent-exchanged", [](auto&) {
    ::mkdir("other", 0755);
    create("other/x.conf");
    ::syscall(SYS_renameat2, AT_FDCWD, "other", AT_FDCWD, "real", 2);
  });
  add("resolved-parent-moved", [](auto&) {
    ::rename("real", "other");
    create("other/x.conf");
    ::rename("other", "real");
  });

  // .git may only be a directory made by mkdir.
  add("dotgit-file", [](auto&) { write_file(".git", "gitdir: sub\n"); });
  add("dotgit-link", [](auto&) { ::symlink("sub", ".git"); });
  add("dotgit-renamed-file", [](auto&) { ::rename("plain.txt", ".git"); });
  add("dotgit-hard-link", [](auto&) { ::link("plain.txt", ".git"); });
  add("dotgit-fifo", [](auto&) { ::mkfifo(".git", 0644); });
  add("dotgit-bind", [](auto&) { bind_to(".git"); });
}

} // namespace villain
