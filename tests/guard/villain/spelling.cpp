// Every call that makes a name times every way to spell one.
#include "villain.hpp"

#include <csignal>
#include <sys/socket.h>
#include <sys/un.h>

namespace villain {

namespace {

struct spelled {
  int directory = AT_FDCWD;
  std::string path;
};

// How the name .env of the workspace is reached.
spelled spell(const std::string& how) {
  char cwd[4096];
  const std::string here = ::getcwd(cwd, sizeof cwd);
  const auto open_directory = [](const char* path) { return ::open(path, O_RDONLY | O_DIRECTORY); };
  if (how == "plain")
    return {AT_FDCWD, ".env"};
  if (how == "dot")
    return {AT_FDCWD, "././/.env"};
  if (how == "up")
    return {AT_FDCWD, "sub/../.env"};
  if (how == "absolute")
    return {AT_FDCWD, here + "/.env"};
  if (how == "rootup")
    return {AT_FDCWD, "/../../proc/../" + here + "//.env"};
  if (how == "dirfd")
    return {open_directory("."), ".env"};
  if (how == "pathfd")
    return {::open(".", O_PATH), ".env"};
  if (how == "subfd")
    return {open_directory("sub"), "../.env"};
  if (how == "proc-cwd")
    return {AT_FDCWD, "/proc/self/cwd/.env"};
  if (how == "proc-thread")
    return {AT_FDCWD, "/proc/thread-self/cwd/.env"};
  if (how == "proc-root")
    return {AT_FDCWD, "/proc/self/root" + here + "/.env"};
  if (how == "proc-fd")
    return {AT_FDCWD, "/proc/self/fd/" + std::to_string(open_directory(".")) + "/.env"};
  if (how == "proc-parent") {
    // The parent is this program too: a sibling's entry.
    if (::fork() != 0) {
      ::pause();
      ::_exit(0);
    }
    return {AT_FDCWD, "/proc/" + std::to_string(::getppid()) + "/cwd/.env"};
  }
  if (how == "dev-fd")
    return {AT_FDCWD, "/dev/fd/" + std::to_string(open_directory(".")) + "/.env"};
  if (how == "link") {
    if (::symlink(here.c_str(), "sub/way") != 0)
      std::perror("symlink");
    return {AT_FDCWD, "sub/way/.env"};
  }
  if (how == "moved-cwd") {
    if (::chdir("sub") != 0)
      std::perror("chdir");
    return {AT_FDCWD, "../.env"};
  }
  if (how == "case")
    return {AT_FDCWD, ".env"};
  std::abort();
}

void finish(const spelled& at) {
  // A child of the "proc-parent" spelling: let the parent go.
  if (at.path.rfind("/proc/", 0) == 0 && ::getppid() > 1)
    ::kill(::getppid(), 10);
}

void use(const std::string& call, const spelled& at) {
  const int d = at.directory;
  const char* p = at.path.c_str();
  const auto fd_name = [](int fd) { return "/proc/self/fd/" + std::to_string(fd); };
  long rc = 0;
  if (call == "open")
    rc = ::syscall(SYS_openat, d, p, O_WRONLY | O_CREAT, 0644);
  else if (call == "open-excl")
    rc = ::syscall(SYS_openat, d, p, O_RDWR | O_CREAT | O_EXCL, 0644);
  else if (call == "open-rdonly")
    rc = ::syscall(SYS_openat, d, p, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  else if (call == "open-nofollow")
    rc = ::syscall(SYS_openat, d, p, O_RDWR | O_CREAT | O_NOFOLLOW | O_TRUNC, 0644);
  else if (call == "mkdir")
    rc = ::mkdirat(d, p, 0755);
  else if (call == "mknod")
    rc = ::mknodat(d, p, S_IFREG | 0644, 0);
  else if (call == "mkfifo")
    rc = ::mknodat(d, p, S_IFIFO | 0644, 0);
  else if (call == "mksock")
    rc = ::mknodat(d, p, S_IFSOCK | 0644, 0);
  else if (call == "symlink")
    rc = ::symlinkat("plain.txt", d, p);
  else if (call == "link")
    rc = ::linkat(AT_FDCWD, "plain.txt", d, p, 0);
  else if (call == "link-fd")
    rc =
        ::linkat(AT_FDCWD, fd_name(::open("plain.txt", O_RDONLY)).c_str(), d, p, AT_SYMLINK_FOLLOW);
  else if (call == "link-tmpfile")
    rc = ::linkat(AT_FDCWD, fd_name(::open(".", O_TMPFILE | O_RDWR, 0644)).c_str(), d, p,
                  AT_SYMLINK_FOLLOW);
  else if (call == "link-symlink")
    rc = ::linkat(AT_FDCWD, "dangling", d, p, 0);
  else if (call == "rename")
    rc = ::renameat(AT_FDCWD, "plain.txt", d, p);
  else if (call == "rename-noreplace")
    rc = ::syscall(SYS_renameat2, AT_FDCWD, "plain.txt", d, p, 1);
  else if (call == "rename-dir")
    rc = ::renameat(AT_FDCWD, "sub2", d, p);
  else
    std::abort();
  if (rc < 0)
    std::perror(call.c_str());
}

void run(const std::string& argument) {
  const auto space = argument.find(' ');
  const spelled at = spell(argument.substr(space + 1));
  use(argument.substr(0, space), at);
  finish(at);
}

} // namespace

void add_spelling_attacks(std::vector<attack>& list) {
  for (const char* call : {"open", "open-excl", "open-rdonly", "open-nofollow", "mkdir", "mknod",
                           "mkfifo", "mksock", "symlink", "link", "link-fd", "link-tmpfile",
                           "link-symlink", "rename", "rename-noreplace", "rename-dir"})
    for (const char* how :
         {"plain", "dot", "up", "absolute", "rootup", "dirfd", "pathfd", "subfd", "proc-cwd",
          "proc-thread", "proc-root", "proc-fd", "proc-parent", "dev-fd", "link", "moved-cwd"}) {
      // From inside sub the sources are elsewhere.
      if (std::string(how) == "moved-cwd" && call[0] != 'o' && call[0] != 'm')
        continue;
      list.push_back({std::string(call) + "/" + how, run, std::string(call) + " " + how});
    }
}

} // namespace villain
