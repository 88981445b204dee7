// Changes everything the supervisor looks at while it looks: paths in memory, links,
// directories, descriptors. Ends after the given time; succeeds never.
#include "villain.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace villain {

namespace {

std::atomic<bool> stop{false};
char* shared_path; // rewritten while calls with it are served

template <void (*Step)()> void* forever(void*) {
  while (!stop)
    Step();
  return nullptr;
}
template <void (*Step)()> void start() {
  pthread_t t;
  ::pthread_create(&t, nullptr, forever<Step>, nullptr);
}

void rewrite_path() {
  std::strcpy(shared_path, "harmless");
  std::strcpy(shared_path, "./.env");
  std::strcpy(shared_path, ".pi/settings.json");
  std::strcpy(shared_path, "sub/../.env");
  std::strcpy(shared_path, "repo/.git/hooks/pre-commit");
}
void use_path() {
  ::close(::open(shared_path, O_WRONLY | O_CREAT, 0644));
  ::symlink("x", shared_path);
  ::rename("harmless", shared_path);
  ::mkdir(shared_path, 0755);
  ::link("plain.txt", shared_path);
  ::unlink("harmless");
  ::rmdir("harmless");
  ::rmdir(".pi");
}
void swap_directories() {
  ::mkdir("x", 0755);
  ::rename("x", "y");
  ::symlink(".", "x");
  ::unlink("x");
  ::rename("y", "x");
}
void use_directories() {
  ::close(::open("x/.env", O_WRONLY | O_CREAT, 0644));
  ::close(::open("x/settings.json", O_WRONLY | O_CREAT, 0644));
  ::rename("x", ".pi");
  ::mkdir(".pi", 0755);
  ::close(::open(".pi/settings.json", O_WRONLY | O_CREAT, 0644));
  ::unlink("x/settings.json");
  ::unlink("x/.env");
}
void swap_descriptor() {
  const int d = ::open(".", O_RDONLY | O_DIRECTORY), s = ::open("sub", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 50; ++i) {
    ::dup2(d, 100);
    ::dup2(s, 100);
  }
  ::close(d);
  ::close(s);
}
void use_descriptor() {
  ::close(::openat(100, ".env", O_WRONLY | O_CREAT, 0644));
  ::unlink("sub/.env");
}
void swap_links() {
  ::symlink(".env", "l");
  ::unlink("l");
  ::symlink("sub/f", "l");
  ::unlink("l");
}
void use_links() { ::close(::open("l", O_WRONLY | O_CREAT, 0644)); }

// A directory that becomes a Git directory while its settings and hooks are written.
void make_git() {
  ::mkdir("g", 0755);
  ::mkdir("g/objects", 0755);
  ::mkdir("g/refs", 0755);
  ::rmdir("g/refs");
}
void plant_git() {
  write_file("g/config", "[core]\nfsmonitor = evil\n");
  ::mkdir("g/hooks", 0755);
  ::close(::open("g/hooks/pre-commit", O_WRONLY | O_CREAT, 0644));
  ::unlink("g/hooks/pre-commit");
  ::unlink("g/config");
}
void publish_git() {
  const int fd = ::open("repo/.git/config.lock", O_RDWR | O_CREAT | O_EXCL, 0644);
  if (fd >= 0) {
    if (::write(fd, "[user]\nname = harmless----------\n", 33) > 0)
      ::rename("repo/.git/config.lock", "repo/.git/config");
    if (::pwrite(fd, "[core]\nfsmonitor = evil------- \n", 32, 0) < 0)
      std::perror("pwrite");
    ::close(fd);
  }
  ::unlink("repo/.git/config.lock");
}
// The copy that a direct writer gets, changed while it is looked at.
void write_git() {
  const char good[] = "[user]\nname = harmless--------- \n",
             bad[] = "[core]\nfsmonitor = evil-------- \n";
  const int fd = ::open("repo/.git/config", O_RDWR | O_CREAT, 0644);
  char name[40];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const int other = ::open(name, O_RDWR);
  if (fd < 0 || other < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, good, sizeof good - 1, 0) < 0)
    ::unlink("repo/.git/config");
  ::close(fd);
  for (int i = 0; other >= 0 && i < 20; ++i)
    if (::pwrite(other, bad, sizeof bad - 1, 0) < 0 ||
        ::pwrite(other, good, sizeof good - 1, 0) < 0)
      std::perror("pwrite");
  ::close(other);
}
void reopen_git() {
  const int fd = ::open("repo/.git/config.lock", O_PATH);
  char name[40];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const int writable = ::open(name, O_RDWR);
  if (writable >= 0 && ::pwrite(writable, "[core]\nfsmonitor = evil------- \n", 32, 0) < 0)
    std::perror("pwrite");
  ::close(writable);
  ::close(fd);
}

} // namespace

int race(int seconds) {
  shared_path = static_cast<char*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  write_file("sub/f", "x");
  // Several processes, so that no lock of one of them orders the others.
  void (*const teams[])() = {
      [] {
        start<rewrite_path>();
        start<use_path>();
        start<use_path>();
      },
      [] {
        start<swap_directories>();
        start<use_directories>();
      },
      [] {
        start<swap_descriptor>();
        start<use_descriptor>();
      },
      [] {
        start<swap_links>();
        start<use_links>();
      },
      [] {
        start<make_git>();
        start<plant_git>();
      },
      [] {
        start<publish_git>();
        start<reopen_git>();
      },
      [] {
        start<write_git>();
        start<write_git>();
      },
  };
  pid_t team[sizeof teams / sizeof *teams];
  int n = 0;
  for (const auto run : teams)
    if ((team[n++] = ::fork()) == 0) {
      run();
      ::pause();
    }
  timespec t{seconds, 0};
  ::nanosleep(&t, nullptr);
  for (const pid_t pid : team) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  return 0;
}

} // namespace villain
