// Changes everything the supervisor looks at while it looks: paths in memory, links,
// directories, descriptors. Each team looks itself whether it has won, in the moment in which only
// it could take that back: no watcher could be as fast.
#include "villain.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace villain {

namespace {

char* shared_path;              // rewritten while calls with it are served
std::atomic<bool>* someone_won; // of any process

void won(const char* what) {
  if (!someone_won->exchange(true))
    std::printf("won: %s\n", what);
  std::fflush(stdout);
}
void look_for(const char* protected_name) {
  struct stat s {};
  if (::lstat(protected_name, &s) == 0)
    won(protected_name);
}
void look_into(const char* settings) {
  char text[512];
  const int fd = ::open(settings, O_RDONLY);
  const auto n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n > 0 && (text[n] = 0, std::strstr(text, "fsmonitor")))
    won(settings);
}

template <void (*Step)()> void* forever(void*) {
  for (;;)
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
  look_for(".env");
  look_for(".pi/settings.json");
  look_for("repo/.git/hooks/pre-commit");
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
  look_for(".env");
  look_for(".pi/settings.json");
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
  look_for(".env");
  ::unlink("sub/.env");
}
void swap_links() {
  ::symlink(".env", "l");
  ::unlink("l");
  ::symlink("sub/f", "l");
  ::unlink("l");
}
void use_links() {
  ::close(::open("l", O_WRONLY | O_CREAT, 0644));
  look_for(".env");
}

// A directory that becomes a Git directory while its settings and hooks are written.
void make_git() {
  ::mkdir("g", 0755);
  ::mkdir("g/objects", 0755);
  if (::mkdir("g/refs", 0755) != 0)
    return;
  for (int i = 0; i < 20; ++i) { // until it is taken away it is a Git directory
    look_into("g/config");
    look_for("g/hooks/pre-commit");
  }
  ::rmdir("g/refs");
}
void plant_git() {
  write_file("g/config", "[core]\nfsmonitor = evil\n");
  ::mkdir("g/hooks", 0755);
  ::close(::open("g/hooks/pre-commit", O_WRONLY | O_CREAT, 0644));
  ::unlink("g/hooks/pre-commit");
  ::unlink("g/config");
}
// Both at once what each alone may be: with what was planted before.
void plant_early() {
  ::mkdir("q", 0755);
  write_file("q/config", "[core]\nfsmonitor = evil\n");
}
void make_objects() {
  ::mkdir("q/objects", 0755);
  ::rmdir("q/objects");
}
void make_refs() { ::mkdir("q/refs", 0755); }
void make_and_remove_refs() { // nobody else removes them
  make_refs();
  struct stat s {};
  if (::lstat("q/refs", &s) == 0 && ::lstat("q/objects", &s) == 0)
    look_into("q/config");
  ::rmdir("q/refs");
}
// Something else under the lock's name while the copy is made there.
void publish_reference() {
  write_file("repo/.git/refs/heads/r.lock", std::string(40, 'a') + "\n");
  ::rename("repo/.git/refs/heads/r.lock", "repo/.git/refs/heads/r");
}
void take_reference() {
  write_file("repo/.git/bad", "ref: refs/heads/../../fsmonitor\n");
  ::rename("repo/.git/bad", "repo/.git/refs/heads/r.lock");
  ::unlink("repo/.git/second");
  ::link("repo/.git/refs/heads/r.lock", "repo/.git/second");
  struct stat a {
  }, b{};
  if (::lstat("repo/.git/second", &a) == 0 && ::lstat("repo/.git/refs/heads/r", &b) == 0 &&
      a.st_ino == b.st_ino)
    won("repo/.git/refs/heads/r");
  look_into("repo/.git/refs/heads/r");
}
void publish_git() {
  const int fd = ::open("repo/.git/config.lock", O_RDWR | O_CREAT | O_EXCL, 0644);
  if (fd >= 0) {
    if (::write(fd, "[user]\nname = harmless----------\n", 33) > 0)
      ::rename("repo/.git/config.lock", "repo/.git/config");
    if (::pwrite(fd, "[core]\nfsmonitor = evil------- \n", 32, 0) < 0)
      std::perror("pwrite");
    look_into("repo/.git/config");
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
  for (int i = 0; other >= 0 && i < 20; ++i) {
    if (::pwrite(other, bad, sizeof bad - 1, 0) < 0)
      std::perror("pwrite");
    look_into("repo/.git/config");
    if (::pwrite(other, good, sizeof good - 1, 0) < 0)
      std::perror("pwrite");
  }
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

// 1 when one has won, 0 when the time is over. `only`: of all teams the one of this number.
int race(int seconds, int only) {
  auto* shared = static_cast<char*>(
      ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  someone_won = new (shared) std::atomic<bool>(false);
  shared_path = shared + 4096;
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
        plant_early();
        start<make_objects>();
        start<make_refs>();
        start<make_and_remove_refs>();
      },
      [] {
        start<publish_reference>();
        start<publish_reference>();
        start<take_reference>();
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
  std::vector<pid_t> all;
  int n = 0;
  for (const auto run : teams) {
    if (only >= 0 && n++ != only)
      continue;
    all.push_back(::fork());
    if (all.back() == 0) {
      run();
      ::pause();
    }
  }
  if (all.empty())
    return 2;
  const timespec moment{0, 10000000};
  for (int i = 0; i < seconds * 100 && !*someone_won; ++i)
    ::nanosleep(&moment, nullptr);
  for (const pid_t pid : all) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  return *someone_won ? 1 : 0;
}

} // namespace villain
