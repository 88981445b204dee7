// Ways to give a directory of the workspace a `.git` file that leads the host's Git to a Git
// directory outside of it, or out of it later. repo/ is a repository of the host's.
#include "git.hpp"

#include <atomic>
#include <sys/mman.h>
#include <thread>

namespace villain {

namespace {

const std::string outside = "gitdir: /var/tmp/private/.git\n";
const std::string inside = "gitdir: ../repo/.git\n";
constexpr const char* target = "repo/nested/.git"; // where it is to be

void put(int fd, const std::string& text) {
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    std::perror("pwrite");
}
int make(const char* at = target, int flags = O_RDWR | O_CREAT) {
  ::mkdir("repo/nested", 0755);
  const int fd = ::open(at, flags, 0644);
  if (fd < 0)
    std::perror(at);
  return fd;
}
// Another guarded call, before which a good text is put in place.
void wait_for_place() { ::close(::open("tick", O_WRONLY | O_CREAT, 0644)); }
// A directory that may not become x/refs, which is found out slowly.
void refused_refs(const char* name) {
  for (const char* directory : {name, "x", "x/objects"})
    ::mkdir(directory, 0755);
  for (int i = 0; i < 1000; ++i)
    ::close(::open(("x/" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644));
}
// The text is put in place as soon as the name has gone.
void while_away(const char* name, int fd, const std::string& text) {
  struct stat s {};
  put(fd, text);
  std::atomic<bool> done{false};
  std::thread mover([&] {
    ::rename(name, "x/refs");
    done = true;
  });
  while (!done && ::lstat(name, &s) == 0) {
  }
  ::close(fd);
  mover.join();
  wait_for_place();
  ::rename("x/refs", name); // without a guard
}
void written(const std::string& text) {
  const int fd = make();
  put(fd, text);
  ::close(fd);
}

} // namespace

void add_git_file_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    add_git_attack(list, name, run);
  };
  add("file-written", [](auto&) { written(outside); });
  add("file-relative", [](auto&) { written("gitdir: ../../../private/.git\n"); });
  add("file-by-the-parent", [](auto&) { written("gitdir: ../x/../../../private/.git\n"); });
  add("file-in-other-letters", [](auto&) {
    const int fd = make("repo/nested/.GIT");
    put(fd, outside);
    ::close(fd);
    ::rename("repo/nested/.GIT", target);
  });
  add("file-written-twice", [](auto&) {
    written(inside);
    wait_for_place();
    written(outside);
  });
  add("file-written-on", [](auto&) {
    const int kept = make();
    const int fd = make(target, O_RDWR);
    put(kept, inside);
    put(fd, inside);
    ::close(fd);
    wait_for_place();
    put(kept, outside);
    ::close(kept);
  });
  add("file-appended", [](auto&) {
    written("gitdir: /var/tmp");
    const int fd = make(target, O_WRONLY | O_APPEND);
    if (::write(fd, "/private/.git", 13) < 0)
      std::perror("write");
    ::close(fd);
  });
  add("file-mapped", [](auto&) {
    const int kept = make();
    put(kept, inside + std::string(40, '\n'));
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
    ::close(kept);
    wait_for_place();
    if (at != MAP_FAILED)
      std::memcpy(at, outside.data(), outside.size());
    wait_for_place();
  });
  add("file-opened-by-its-descriptor", [](auto&) {
    written(inside);
    wait_for_place();
    const int fd = ::open(target, O_RDONLY);
    const int again = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_TRUNC);
    put(again, outside);
    ::close(again);
  });
  add("file-renamed", [](auto&) {
    write_file("g", outside);
    ::mkdir("repo/nested", 0755);
    ::rename("g", target);
  });
  add("file-by-lock", [](auto&) {
    ::mkdir("repo/nested", 0755);
    write_file("repo/nested/.git.lock", outside);
    ::rename("repo/nested/.git.lock", target);
  });
  add("file-written-after-its-rename", [](auto&) {
    ::mkdir("repo/nested", 0755);
    const int fd = ::open("g", O_RDWR | O_CREAT, 0644);
    put(fd, inside);
    ::rename("g", target);
    put(fd, outside);
    ::close(fd);
  });
  add("file-with-a-second-name-before", [](auto&) {
    ::mkdir("repo/nested", 0755);
    write_file("g", inside);
    ::link("g", "h");
    ::rename("g", target);
    write_file("h", outside);
  });
  add("file-with-a-second-name", [](auto&) {
    written(inside);
    wait_for_place();
    ::link(target, "h");
    write_file("h", outside);
  });
  add("file-linked", [](auto&) {
    write_file("g", outside);
    ::mkdir("repo/nested", 0755);
    ::link("g", target);
  });
  add("file-exchanged", [](auto&) {
    written(inside);
    write_file("g", outside);
    ::syscall(SYS_renameat2, AT_FDCWD, "g", AT_FDCWD, target, 2);
  });
  add("file-exchanged-back", [](auto&) {
    written(inside);
    write_file("g", outside);
    ::syscall(SYS_renameat2, AT_FDCWD, target, AT_FDCWD, "g", 2);
  });
  add("file-without-a-name-linked", [](auto&) {
    ::mkdir("repo/nested", 0755);
    const int fd = ::open(".", O_TMPFILE | O_RDWR, 0644);
    put(fd, outside);
    ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, target,
             AT_SYMLINK_FOLLOW);
  });
  add("file-cut", [](auto&) {
    written(inside);
    wait_for_place();
    ::truncate(target, 10);
  });
  add("file-made-and-cut", [](auto&) {
    ::mkdir("repo/nested", 0755);
    write_file("g", inside);
    ::rename("g", target);
    const int fd = ::open("g", O_RDONLY | O_TRUNC);
    ::close(fd);
    ::close(::open(target, O_RDONLY | O_TRUNC));
    ::truncate(target, 10); // zero bytes
  });
  add("file-copied-over", [](auto&) {
    written(inside);
    write_file("g", outside);
    shell("cp g repo/nested/.git; cp --remove-destination g repo/nested/.git; "
          "install g repo/nested/.git");
  });
  add("file-unpacked", [](auto&) {
    ::mkdir("repo/nested", 0755);
    write_file("g", outside);
    shell("tar cf a.tar --transform=s,g,repo/nested/.git, g; tar xf a.tar");
  });
  // Not what Git writes: an end within, or more than it needs.
  add("file-with-a-zero", [](auto&) { written(outside.substr(0, 29) + std::string(1, '\0')); });
  add("file-with-lines", [](auto&) { written("gitdir: /var/tmp/private\n/../../x\n"); });
  add("file-of-great-length",
      [](auto&) { written("gitdir: " + std::string(9000, '/') + "var/tmp/private/.git\n"); });
  // Through a link, now or later.
  add("file-through-a-link", [](auto&) {
    ::symlink("/var/tmp", "l");
    written("gitdir: ../../l/private/.git\n");
  });
  add("file-through-a-link-that-changes", [](auto&) {
    ::symlink("repo", "l");
    written("gitdir: ../../l/.git\n");
    wait_for_place();
    ::unlink("l");
    ::symlink("/var/tmp", "l");
  });
  add("file-through-a-later-link", [](auto&) {
    ::mkdir("d", 0755);
    written("gitdir: ../../d/private.git\n");
    wait_for_place();
    ::rmdir("d");
    ::symlink("/var/tmp", "d");
  });
  add("file-through-a-link-that-is-moved", [](auto&) {
    written("gitdir: ../../d/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "l");
    ::rename("l", "d");
  });
  add("file-through-a-link-in-what-is-moved", [](auto&) {
    written("gitdir: ../../d/e/private.git\n");
    wait_for_place();
    ::mkdir("f", 0755);
    ::symlink("/var/tmp", "f/e");
    ::rename("f", "d");
  });
  add("file-through-a-link-in-what-is-exchanged", [](auto&) {
    ::mkdir("d", 0755);
    written("gitdir: ../../d/e/private.git\n");
    wait_for_place();
    ::mkdir("f", 0755);
    ::symlink("/var/tmp", "f/e");
    ::syscall(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "f", 2);
  });
  add("file-through-a-link-that-is-linked", [](auto&) {
    written("gitdir: ../../d/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "l");
    ::link("l", "d");
  });
  // By the names that make a Git directory, which have rules of their own.
  add("file-through-a-link-called-refs", [](auto&) {
    written("gitdir: ../../refs/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "refs");
  });
  add("file-through-a-link-called-objects", [](auto&) {
    ::mkdir("d", 0755);
    written("gitdir: ../../d/objects/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "d/objects");
  });
  add("file-through-a-link-called-refs-beside-objects", [](auto&) {
    ::mkdir("d", 0755);
    ::mkdir("d/objects", 0755);
    written("gitdir: ../../d/refs/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "d/refs");
  });
  add("file-through-a-link-called-refs-that-is-linked", [](auto&) {
    written("gitdir: ../../refs/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "l");
    ::link("l", "refs");
  });
  add("file-through-a-link-called-objects-that-is-linked", [](auto&) {
    written("gitdir: ../../objects/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "l");
    ::link("l", "objects");
  });
  add("file-through-a-link-called-refs-that-is-moved", [](auto&) {
    written("gitdir: ../../refs/private.git\n");
    wait_for_place();
    ::symlink("/var/tmp", "l");
    ::rename("l", "refs");
  });
  for (const char* name : {"hooks", "config", "commondir", "branches", "index", "HEAD", "x.lock"})
    list.push_back({std::string("git-file-through-a-link-called-") + name,
                    [](const std::string& called) {
                      written("gitdir: ../../" + called + "/private.git\n");
                      wait_for_place();
                      ::symlink("/var/tmp", called.c_str());
                    },
                    name});
  add("file-through-a-link-in-a-closed-directory", [](auto&) {
    ::mkdir("d", 0755);
    ::mkdir("d/e", 0755);
    const int e = ::open("d/e", O_PATH);
    written("gitdir: ../../d/e/f/private.git\n");
    wait_for_place();
    ::chmod("d", 0);
    ::symlinkat("/var/tmp", e, "f");
    ::chmod("d", 0755);
  });
  // What may not be where it is moved to is moved back, and meanwhile nothing is on the way.
  add("file-through-what-is-moved-back", [](auto&) {
    refused_refs("m");
    ::symlink("/var/tmp", "m/e.lock");
    while_away("m", make(), "gitdir: ../../m/e.lock/private.git\n");
  });
  // Another place of the directory, from which the same text leads out.
  add("file-in-a-directory-that-is-moved", [](auto&) {
    ::mkdir("repo/x", 0755);
    ::mkdir("repo/x/y", 0755);
    write_file("repo/x/y/.git", "gitdir: ../../.git/modules/m\n");
    wait_for_place();
    ::rename("repo/x/y", "y");
  });
  add("file-below-a-directory-that-is-moved", [](auto&) {
    ::mkdir("repo/x", 0755);
    ::mkdir("repo/x/y", 0755);
    write_file("repo/x/y/.git", "gitdir: ../../.git/modules/m\n");
    wait_for_place();
    ::rename("repo/x", "x");
    ::rename("x/y", "y");
  });
  add("file-in-a-directory-that-is-exchanged", [](auto&) {
    ::mkdir("repo/x", 0755);
    ::mkdir("y", 0755);
    ::mkdir("repo/x/y", 0755);
    write_file("repo/x/y/.git", "gitdir: ../../.git/modules/m\n");
    wait_for_place();
    ::syscall(SYS_renameat2, AT_FDCWD, "y", AT_FDCWD, "repo/x/y", 2);
  });
}

} // namespace villain
