// Ways to put a link, or something at which a reader waits, where pi-subagents of the host writes
// and reads what workers have said: .pi-subagents/, which is there with a directory in it.
#include "villain.hpp"

#include <sys/socket.h>
#include <sys/un.h>

namespace villain {

namespace {

const std::string place = ".pi-subagents/artifacts/";
const std::string report = place + "report.md";

// Reading it is an error, and a reader of the directory takes it for a report.
void bind_to(const std::string& path) {
  int pair[2];
  ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair); // new sockets of this kind there are none
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ::bind(pair[0], reinterpret_cast<sockaddr*>(&address), sizeof address);
}

void exchange(const char* a, const char* b) {
  ::syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2);
}

} // namespace

void add_plain_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    list.push_back({std::string("plain-") + name, run, ""});
  };
  add("link", [](auto&) { ::symlink("/tmp/out", report.c_str()); });
  add("link-from-inside", [](auto&) {
    ::chdir(place.c_str());
    ::symlink("/tmp/out", "report.md");
  });
  add("link-in-a-new-directory", [](auto&) {
    ::mkdir((place + "d").c_str(), 0755);
    ::symlink("/tmp/out", (place + "d/report.md").c_str());
  });
  add("link-by-another-way", [](auto&) {
    ::symlink(".pi-subagents", "other");
    ::symlink("/tmp/out", "other/artifacts/report.md");
  });
  add("link-by-descriptor", [](auto&) {
    const int fd = ::open(place.c_str(), O_PATH | O_DIRECTORY);
    ::symlinkat("/tmp/out", fd, "report.md");
  });
  add("link-moved-in", [](auto&) {
    ::symlink("/tmp/out", "l");
    ::rename("l", report.c_str());
  });
  add("link-exchanged-in", [](auto&) {
    ::symlink("/tmp/out", "l");
    write_file(report, "x");
    exchange("l", report.c_str());
  });
  add("link-exchanged-in-from-the-other-side", [](auto&) {
    ::symlink("/tmp/out", "l");
    write_file(report, "x");
    exchange(report.c_str(), "l");
  });
  add("link-while-a-file-moves-in", [](auto&) {
    struct stat s {};
    for (int i = 0; i < 300 && !(::lstat(report.c_str(), &s) == 0 && S_ISLNK(s.st_mode)); ++i) {
      write_file("l", "x");
      if (::fork() == 0) {
        ::unlink("l");
        ::symlink("/tmp/out", "l");
        ::_exit(0);
      }
      ::rename("l", report.c_str());
    }
  });
  add("link-in-a-directory-moved-in", [](auto&) {
    ::mkdir("d", 0755);
    ::symlink("/tmp/out", "d/report.md");
    ::rename("d", (place + "d").c_str());
  });
  add("link-in-a-directory-taken-out-and-back", [](auto&) {
    ::mkdir((place + "d").c_str(), 0755);
    ::rename((place + "d").c_str(), "d");
    ::symlink("/tmp/out", "d/report.md");
    ::rename("d", (place + "d").c_str());
  });
  add("link-hard-linked", [](auto&) {
    ::symlink("/tmp/out", "l");
    ::link("l", report.c_str());
  });
  add("link-hard-linked-by-descriptor", [](auto&) {
    ::symlink("/tmp/out", "l");
    const int fd = ::open("l", O_PATH | O_NOFOLLOW);
    ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, report.c_str(),
             AT_SYMLINK_FOLLOW);
  });
  add("moved-away-and-a-link-in-its-place", [](auto&) {
    ::rename(".pi-subagents", "old");
    ::symlink("/tmp", ".pi-subagents");
  });
  add("removed-and-a-link-in-its-place", [](auto&) {
    ::rmdir(place.c_str());
    ::rmdir(".pi-subagents");
    ::symlink("/tmp", ".pi-subagents");
  });
  add("removed-and-another-in-its-place", [](auto&) {
    ::rmdir(place.c_str());
    ::rmdir(".pi-subagents");
    ::mkdir("mine", 0755);
    ::symlink("/tmp", "mine/artifacts");
    ::rename("mine", ".pi-subagents");
  });
  add("artifacts-replaced", [](auto&) {
    ::rmdir(place.c_str());
    ::symlink("/tmp", ".pi-subagents/artifacts");
  });
  add("pipe", [](auto&) { ::mkfifo(report.c_str(), 0600); });
  add("pipe-moved-in", [](auto&) {
    ::mkfifo("p", 0600);
    ::rename("p", report.c_str());
  });
  add("socket", [](auto&) { bind_to(report); });
  add("socket-from-inside", [](auto&) {
    ::chdir(place.c_str());
    bind_to("report.md");
  });
}

} // namespace villain
