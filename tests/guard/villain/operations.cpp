// Creating calls of every kind, good and bad, with every result printed. The same seed makes
// the same calls, so two runs can be compared line by line.
#include "villain.hpp"

#include <random>
#include <sys/socket.h>
#include <sys/un.h>

namespace villain {

namespace {

class player {
public:
  explicit player(unsigned seed) : random_(seed) {}

  void play() {
    directory_ = ::open("sub", O_RDONLY | O_DIRECTORY);
    path_directory_ = ::open("sub2", O_PATH);
    file_ = ::open("plain.txt", O_RDONLY);
    for (int i = 0; i < 2000; ++i)
      step(i);
  }

private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  int some_directory() {
    const int all[] = {AT_FDCWD, AT_FDCWD, AT_FDCWD, directory_, path_directory_, file_, -7, 999};
    return all[pick(8)];
  }
  std::string some_path() {
    const char* parts[] = {"a", "b",        "c",         "d",    "sub",  "sub2", "..", ".",
                           "h", "dangling", "plain.txt", "loop", "fifo", "e",    "g",  "f"};
    const auto n = pick(4);
    std::string out = pick(12) == 0 ? "/proc/self/cwd/" : pick(12) == 0 ? here_ + "/" : "";
    for (unsigned i = 0; i <= n; ++i)
      out += (i > 0 ? "/" : "") + std::string(parts[pick(sizeof parts / sizeof *parts)]);
    if (pick(10) == 0)
      out += "/";
    if (pick(60) == 0)
      out = std::string(300, 'n');
    if (pick(60) == 0)
      out = "a/" + std::string(5000, 'p');
    return out;
  }
  void say(int i, const std::string& what, long rc, int error) {
    if (rc < 0)
      std::printf("%d %s %s\n", i, what.c_str(), ::strerrorname_np(error));
    else
      std::printf("%d %s ok\n", i, what.c_str());
  }
  void open_one(int i, int d, const std::string& p) {
    const int bits[] = {O_CREAT,     O_CREAT,    O_EXCL,     O_TRUNC,    O_APPEND,
                        O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NONBLOCK, O_CLOEXEC,
                        O_SYNC,      O_NOCTTY,   O_NOATIME};
    int flags = static_cast<int>(pick(3));
    for (int n = 0; n < 3; ++n)
      flags |= bits[pick(sizeof bits / sizeof *bits)];
    flags |= O_NONBLOCK; // FIFOs have a test of their own
    const mode_t mode = pick(01000);
    const long fd = ::syscall(SYS_openat, d, p.c_str(), flags, mode);
    const int error = errno;
    say(i, "open", fd, error);
    if (fd < 0)
      return;
    struct stat s {};
    ::fstat(static_cast<int>(fd), &s);
    std::printf("  %ld mode %o flags %x cloexec %d size %ld\n", fd, s.st_mode,
                ::fcntl(static_cast<int>(fd), F_GETFL), ::fcntl(static_cast<int>(fd), F_GETFD),
                S_ISREG(s.st_mode) ? static_cast<long>(s.st_size) : -1L);
    ::close(static_cast<int>(fd));
  }
  void step(int i) {
    const int d = some_directory(), e = some_directory();
    const std::string p = some_path(), q = some_path();
    // Directories stay searchable: which of several errors is reported first there may differ.
    const mode_t mode = pick(01000) | 0700;
    long rc = 0;
    const char* what = "";
    errno = 0;
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        open_one(i, d, p);
        return;
      case 4:
      case 5:
        what = "mkdir";
        rc = ::mkdirat(d, p.c_str(), mode);
        break;
      case 6: {
        const mode_t kinds[] = {S_IFREG, S_IFIFO, S_IFSOCK, 0, S_IFDIR, S_IFLNK, S_IFCHR};
        what = "mknod";
        rc = ::syscall(SYS_mknodat, d, p.c_str(), kinds[pick(7)] | mode, 0);
        break;
      }
      case 7:
        what = "symlink";
        rc = ::symlinkat(q.substr(0, 100).c_str(), d, p.c_str());
        break;
      case 8: {
        const int flags[] = {0, 0, AT_SYMLINK_FOLLOW, 0x4000};
        what = "link";
        rc = ::linkat(d, p.c_str(), e, q.c_str(), flags[pick(4)]);
        break;
      }
      case 9:
      case 10:
        what = "rename";
        rc = ::renameat(d, p.c_str(), e, q.c_str());
        break;
      case 11: {
        const unsigned flags[] = {0, 1, 2, 3, 8};
        what = "renameat2";
        rc = ::syscall(SYS_renameat2, d, p.c_str(), e, q.c_str(), flags[pick(5)]);
        break;
      }
      case 12:
        what = "truncate";
        rc = ::truncate(p.c_str(), static_cast<off_t>(pick(5000)) - 10);
        break;
      case 13:
        what = "unlink";
        rc = ::unlinkat(d, p.c_str(), pick(2) ? AT_REMOVEDIR : 0);
        break;
      case 14: {
        what = "bind";
        int pair[2];
        ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        std::strncpy(a.sun_path, p.c_str(), sizeof a.sun_path - 1);
        rc = ::bind(pair[0], reinterpret_cast<sockaddr*>(&a), sizeof a);
        const int error = errno;
        sockaddr_un name{};
        socklen_t bytes = sizeof name;
        if (rc == 0 && ::getsockname(pair[0], reinterpret_cast<sockaddr*>(&name), &bytes) == 0)
          std::printf("  named %s\n", name.sun_path);
        ::close(pair[0]);
        ::close(pair[1]);
        errno = error;
        break;
      }
      default:
        what = pick(2) ? "fault" : "umask";
        if (*what == 'f')
          rc = ::syscall(SYS_mkdirat, d, 8L, mode);
        else
          rc = ::umask(mode & 077);
        break;
    }
    const int error = errno;
    say(i, std::string(what) + " " + p.substr(0, 60) + " " + q.substr(0, 60), rc, error);
  }

  std::mt19937 random_;
  std::string here_ = [] {
    char cwd[4096];
    return std::string(::getcwd(cwd, sizeof cwd));
  }();
  int directory_ = -1, path_directory_ = -1, file_ = -1;
};

} // namespace

int operations(unsigned seed) {
  ::symlink("loop", "loop");
  ::mkfifo("fifo", 0600);
  player(seed).play();
  return 0;
}

} // namespace villain
