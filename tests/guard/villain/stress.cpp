// What only goes wrong under load or in the last corner. Prints what it found; the
// test knows what that must be.
#include "villain.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

namespace villain {

namespace {

void interrupt_often(int flags) {
  struct sigaction act {};
  act.sa_handler = [](int) {};
  act.sa_flags = flags;
  ::sigaction(SIGALRM, &act, nullptr);
  const itimerval often{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
}

// Every call is carried out exactly once, however often it is interrupted. "lost": it has been
// carried out, and the answer says that it could not be.
int interrupted() {
  interrupt_often(SA_RESTART);
  int wrong = 0, lost = 0;
  const auto makes = [&](int outcome, int error) {
    if (outcome < 0)
      ++(errno == error ? lost : wrong);
  };
  const auto is_there = [](const std::string& name) {
    struct stat s {};
    return ::lstat(name.c_str(), &s) == 0;
  };
  for (int i = 0; i < 1500; ++i) {
    const std::string name = "d" + std::to_string(i);
    makes(::mkdir(name.c_str(), 0755), EEXIST);
    wrong += ::mkdir(name.c_str(), 0755) == 0 || errno != EEXIST;
    const std::string file = name + "/f", other = name + "/g";
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    makes(fd, EEXIST);
    struct stat open {
    }, named{};
    wrong += fd >= 0 && (::fstat(fd, &open) != 0 || ::stat(file.c_str(), &named) != 0 ||
                         open.st_ino != named.st_ino || ::fcntl(fd, F_GETFD) != FD_CLOEXEC);
    ::close(fd);
    wrong += ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644) >= 0 || errno != EEXIST;
    makes(::rename(file.c_str(), other.c_str()), ENOENT);
    wrong += is_there(file) || !is_there(other);
    wrong += ::rename(file.c_str(), other.c_str()) == 0 || errno != ENOENT;
    makes(::symlink("x", file.c_str()), EEXIST);
    wrong += ::unlink(file.c_str()) != 0 || ::unlink(other.c_str()) != 0;
    wrong += ::rmdir(name.c_str()) != 0;
  }
  std::printf("%d wrong, %d lost\n", wrong, lost);
  return 0;
}

// The same where the caller gets a copy. "left": a descriptor that nobody told the caller of.
int interrupted_copies() {
  for (const char* name : {"g", "g/objects", "g/refs"})
    ::mkdir(name, 0755);
  interrupt_often(SA_RESTART);
  int wrong = 0, lost = 0, left = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "g/refs/r" + std::to_string(i);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
      ++(errno == EEXIST ? lost : wrong);
    ::close(fd);
    for (int other = 3; other < 64; ++other)
      if (::close(other) == 0)
        ++left;
  }
  std::printf("%d wrong, %d lost, %d left\n", wrong, lost, left);
  return 0;
}

int fifo() {
  ::mkfifo("f", 0600);
  // A writer that waits, with other calls going on meanwhile.
  const pid_t writer = ::fork();
  if (writer == 0) {
    const int fd = ::open("f", O_WRONLY | O_CREAT, 0600);
    ::_exit(fd >= 0 && ::write(fd, "hello", 5) == 5 ? 0 : 1);
  }
  for (int i = 0; i < 100; ++i)
    ::close(::creat("while-it-waits", 0644));
  char text[8] = {};
  const int reader = ::open("f", O_RDONLY);
  const auto n = ::read(reader, text, sizeof text);
  int status = 1;
  ::waitpid(writer, &status, 0);
  std::printf("%zd %s %d\n", n, text, status);
  ::close(reader);
  // A handler without SA_RESTART ends the wait; so does a kill.
  struct sigaction act {};
  act.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &act, nullptr);
  const itimerval often{{0, 100000}, {0, 100000}}; // the first may come before the wait
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const int fd = ::open("f", O_WRONLY);
  const itimerval never{};
  const int problem = errno;
  ::setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("%s\n", fd < 0 ? ::strerrorname_np(problem) : "opened");
  pid_t many[300];
  for (pid_t& p : many)
    if ((p = ::fork()) == 0) {
      ::open("f", O_WRONLY);
      ::pause();
    }
  ::usleep(300000);
  for (const pid_t p : many) {
    ::kill(p, SIGKILL);
    ::waitpid(p, nullptr, 0);
  }
  ::usleep(100000);
  std::printf("%d\n", ::open("after", O_CREAT | O_WRONLY, 0600) >= 0);
  return 0;
}

int exclusive() {
  int winners = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string name = "x" + std::to_string(round);
    int start[2];
    ::pipe(start);
    pid_t all[64];
    for (pid_t& p : all)
      if ((p = ::fork()) == 0) {
        char go;
        ::close(start[1]);
        ::read(start[0], &go, 1);
        ::_exit(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0 ? 1 : 0);
      }
    ::close(start[0]);
    ::close(start[1]);
    for (const pid_t p : all) {
      int status;
      ::waitpid(p, &status, 0);
      winners += WEXITSTATUS(status);
    }
  }
  std::printf("%d\n", winners);
  return 0;
}

int descriptors() {
  rlimit l{};
  ::getrlimit(RLIMIT_NOFILE, &l);
  l.rlim_cur = l.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &l);
  const int wanted = l.rlim_max > 20010 ? 20000 : static_cast<int>(l.rlim_max) - 10;
  int got = 0;
  for (; got < wanted; ++got)
    if (::open("plain.txt", O_RDWR | O_CREAT, 0600) < 0)
      break;
  l.rlim_cur = static_cast<rlim_t>(got);
  ::setrlimit(RLIMIT_NOFILE, &l);
  ::open("one-more", O_RDWR | O_CREAT, 0600);
  std::printf("%s %s\n", got == wanted ? "all" : "not all", ::strerrorname_np(errno));
  return 0;
}

int paths() {
  // 4095 bytes are a path, 4096 are not; deeper than that only step by step.
  std::string longest;
  while (longest.size() + 2 <= 4094)
    longest += "./";
  longest += longest.size() == 4094 ? "p" : "pp";
  std::printf("%zu %d\n", longest.size(), ::open(longest.c_str(), O_CREAT | O_WRONLY, 0600) >= 0);
  const bool too_long = ::open(("./" + longest).c_str(), O_CREAT | O_WRONLY, 0600) < 0;
  std::printf("%d %s\n", too_long, ::strerrorname_np(errno));
  const std::string name(200, 'd');
  for (int i = 0; i < 40; ++i)
    if (::mkdir(name.c_str(), 0755) != 0 || ::chdir(name.c_str()) != 0)
      std::printf("deep: %s\n", ::strerrorname_np(errno));
  // The last ones are protected elsewhere.
  for (const char* file : {"deep", ".env", "settings.json", "config", "hooks"})
    std::printf("%s %d\n", file, ::open(file, O_CREAT | O_WRONLY, 0600) >= 0);
  ::mkdir("gone", 0755);
  ::chdir("gone");
  ::rmdir("../gone");
  const bool none = ::open("x", O_CREAT | O_WRONLY, 0600) < 0;
  std::printf("%d %s\n", none, ::strerrorname_np(errno));
  return 0;
}

// Writers that wait get their descriptor also where they have to wait for a processor
// once the reader is there.
int busy_fifos() {
  std::vector<pid_t> others;
  const auto child = [&](auto what) {
    if (const pid_t p = ::fork(); p != 0)
      return others.push_back(p);
    what();
    ::_exit(0);
  };
  for (long i = 0; i < 12 * ::sysconf(_SC_NPROCESSORS_ONLN); ++i)
    child([] {
      for (volatile unsigned n = 0;; n = n + 1) {
      }
    });
  const auto name = [](int i) { return "f" + std::to_string(i); };
  constexpr int count = 16;
  for (int i = 0; i < count; ++i) {
    ::mkfifo(name(i).c_str(), 0600);
    child([&] {
      if (const int fd = ::open(name(i).c_str(), O_WRONLY); fd > 2) [[maybe_unused]]
        const auto n = ::write(fd, "hello", 5);
    });
  }
  ::usleep(50000); // all of them wait
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    char text[8];
    const int reader = ::open(name(i).c_str(), O_RDONLY);
    wrong += ::read(reader, text, sizeof text) != 5;
    ::close(reader);
  }
  for (const pid_t p : others) {
    ::kill(p, SIGKILL);
    ::waitpid(p, nullptr, 0);
  }
  std::printf("%d wrong\n", wrong);
  return 0;
}

// Who opens a file through /proc for writing waits for its lease, and nobody else.
int leases() {
  write_file("leased", "x");
  const int held = ::open("leased", O_RDONLY);
  ::signal(SIGIO, SIG_IGN);
  while (::fcntl(held, F_SETLEASE, F_RDLCK) != 0) // the supervisor may not have closed it yet
    ::usleep(1000);
  const auto opens = [&](const std::string& name, int flags) {
    const pid_t p = ::fork();
    if (p == 0)
      ::_exit(::open(name.c_str(), flags) >= 0 ? 0 : errno);
    return p;
  };
  const std::string own = "/proc/self/fd/" + std::to_string(held);
  const pid_t waiting[] = {opens("leased", O_WRONLY), opens(own, O_WRONLY), opens(own, O_RDWR)};
  const pid_t not_waiting = opens(own, O_WRONLY | O_NONBLOCK);
  int status = 0;
  ::waitpid(not_waiting, &status, 0);
  std::printf("%s\n", ::strerrorname_np(WEXITSTATUS(status)));
  ::usleep(100000); // all of them wait
  for (const char* name : {"g", "g/objects", "g/refs"})
    ::mkdir(name, 0755);
  ::close(::creat("g/new", 0644));
  int still = 0;
  for (const pid_t p : waiting)
    still += ::waitpid(p, nullptr, WNOHANG) == 0;
  std::printf("%d wait\n", still);
  ::fcntl(held, F_SETLEASE, F_UNLCK);
  for (const pid_t p : waiting) {
    status = 1;
    ::waitpid(p, &status, 0);
    std::printf("%d\n", status);
  }
  return 0;
}

} // namespace

int stress(const char* what) {
  const std::string mode = what;
  if (mode == "interrupted")
    return interrupted();
  if (mode == "interrupted-copies")
    return interrupted_copies();
  if (mode == "leases")
    return leases();
  if (mode == "fifo")
    return fifo();
  if (mode == "busy-fifos")
    return busy_fifos();
  if (mode == "exclusive")
    return exclusive();
  if (mode == "descriptors")
    return descriptors();
  if (mode == "paths")
    return paths();
  return 2;
}

} // namespace villain
