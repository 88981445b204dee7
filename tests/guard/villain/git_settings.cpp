// Ways to change the settings of a repository so that Git runs a program or reads its settings
// from elsewhere. repo/ is a repository of the host's.
#include "git.hpp"

#include <sys/mman.h>
#include <sys/wait.h>

namespace villain {

namespace {

void plant_config(const std::string& git_dir) {
  write_file(git_dir + "/config.lock", evil);
  if (::rename((git_dir + "/config.lock").c_str(), (git_dir + "/config").c_str()) != 0)
    std::perror("config");
}

} // namespace

void add_git_settings_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    add_git_attack(list, name, run);
  };
  add("config-command", [](auto&) { shell("git -C repo config core.fsmonitor 'touch planted'"); });
  add("config-hookspath", [](auto&) { shell("git -C repo config core.hooksPath ../evil"); });
  add("config-include", [](auto&) { shell("git -C repo config include.path ../../evil"); });
  add("config-lock", [](auto&) { plant_config("repo/.git"); });
  add("config-write", [](auto&) { open_write("repo/.git/config"); });
  add("config-append", [](auto&) { open_write("repo/.git/config", O_WRONLY | O_APPEND); });
  add("config-read-write", [](auto&) { open_write("repo/.git/config", O_RDWR); });
  add("config-create-flag",
      [](auto&) { open_write("repo/.git/config", O_WRONLY | O_CREAT | O_TRUNC); });
  add("config-mapped", [](auto&) { open_write("/proc/self/cwd/repo/.git/config", O_RDWR); });
  add("config-mapped-and-closed", [](auto&) {
    const int fd = ::open("repo/.git/config", O_RDWR | O_CREAT, 0644);
    ::ftruncate(fd, 4096);
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED)
      return;
    std::memset(at, '\n', 4096);
    std::memcpy(at, evil.data(), evil.size());
  });
  add("config-harmless-first", [](auto&) {
    const int fd = ::open("repo/.git/config", O_RDWR | O_APPEND);
    ::write(fd, "[user]\n\tname = x\n", 17);
    ::close(open_write("/proc/self/fd/" + std::to_string(fd), O_WRONLY | O_APPEND));
    ::pwrite(fd, evil.data(), evil.size(), 0);
  });
  add("config-rewritten-while-it-is-checked", [](auto&) {
    for (int i = 0; i < 200; ++i) {
      const int fd = ::open("repo/.git/config", O_RDWR);
      const int other = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR);
      const std::string good(evil.size(), '\n');
      ::ftruncate(fd, 0);
      ::pwrite(fd, good.data(), good.size(), 0);
      ::close(fd);
      for (int n = 0; n < 20; ++n) {
        ::pwrite(other, evil.data(), evil.size(), 0);
        ::pwrite(other, good.data(), good.size(), 0);
      }
      if (i == 199)
        ::pwrite(other, evil.data(), evil.size(), 0);
      ::close(other);
    }
  });
  add("config-written-where-it-moved", [](auto&) {
    const int fd = ::open("repo/.git/config", O_WRONLY | O_TRUNC);
    ::rename("repo", "elsewhere");
    ::write(fd, evil.data(), evil.size());
    ::close(fd);
  });
  add("config-reopened", [](auto&) {
    const int fd = ::open("repo/.git/config", O_RDONLY);
    open_write("/proc/self/fd/" + std::to_string(fd), O_WRONLY | O_TRUNC);
  });
  add("config-reopened-path", [](auto&) {
    const int fd = ::open("repo/.git/config", O_PATH);
    open_write("/proc/self/fd/" + std::to_string(fd), O_RDWR);
  });
  add("config-reopened-while-moving", [](auto&) {
    const int fd = ::open("repo/.git/config", O_PATH);
    if (::fork() == 0) {
      for (int i = 0; i < 300; ++i) {
        ::rename("repo", "repo2");
        ::rename("repo2", "repo");
      }
      ::_exit(0);
    }
    for (int i = 0; i < 300; ++i)
      open_write("/proc/self/fd/" + std::to_string(fd), O_RDWR);
    ::wait(nullptr);
  });
  add("config-by-link", [](auto&) {
    ::symlink("repo/.git/config", "l");
    open_write("l");
  });
  add("config-hard-link", [](auto&) {
    ::link("repo/.git/config", "other");
    open_write("other");
  });
  add("config-hard-link-by-descriptor", [](auto&) {
    const int fd = ::open("repo/.git/config", O_RDONLY);
    ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, "other",
             AT_SYMLINK_FOLLOW);
    open_write("other");
  });
  add("config-replaced", [](auto&) {
    ::unlink("repo/.git/config");
    write_file("repo/.git/config", evil);
  });
  add("config-renamed-onto", [](auto&) {
    write_file("evil-config", evil);
    ::rename("evil-config", "repo/.git/config");
  });
  add("config-linked-onto", [](auto&) {
    write_file("evil-config", evil);
    ::unlink("repo/.git/config");
    ::link("evil-config", "repo/.git/config");
  });
  add("config-symlink", [](auto&) {
    write_file("evil-config", evil);
    ::unlink("repo/.git/config");
    ::symlink("../../evil-config", "repo/.git/config");
  });
  add("config-exchanged", [](auto&) {
    write_file("evil-config", evil);
    ::syscall(SYS_renameat2, AT_FDCWD, "evil-config", AT_FDCWD, "repo/.git/config", 2);
  });
  add("config-exchanged-back", [](auto&) {
    write_file("evil-config", evil);
    ::syscall(SYS_renameat2, AT_FDCWD, "repo/.git/config", AT_FDCWD, "evil-config", 2);
  });
  add("config-away-and-back", [](auto&) {
    ::rename("repo/.git/config", "mine");
    open_write("mine");
    ::rename("mine", "repo/.git/config");
  });
  add("config-written-after-the-check", [](auto&) {
    const int fd = ::open("repo/.git/config.lock", O_RDWR | O_CREAT | O_EXCL, 0644);
    const char harmless[] = "[core]\n\trepositoryformatversion = 0\n";
    if (::write(fd, harmless, sizeof harmless - 1) < 0)
      return;
    ::rename("repo/.git/config.lock", "repo/.git/config");
    if (::pwrite(fd, evil.data(), evil.size(), 0) < 0)
      std::perror("pwrite");
  });
  add("config-lock-hard-link", [](auto&) {
    write_file("mine", "[core]\n");
    ::link("mine", "repo/.git/config.lock");
    ::rename("repo/.git/config.lock", "repo/.git/config");
    open_write("mine");
  });
  add("config-lock-link", [](auto&) {
    write_file("mine", evil);
    ::symlink("../../mine", "repo/.git/config.lock");
    ::rename("repo/.git/config.lock", "repo/.git/config");
  });
  add("config-truncated", [](auto&) {
    // What is left must not be a setting that was not there.
    shell("git -C repo config user.name 'x'");
    if (::truncate("repo/.git/config", 0) == 0)
      write_file("repo/.git/config.lock", evil),
          ::rename("repo/.git/config.lock", "repo/.git/config");
  });
  add("config-moved-repository", [](auto&) {
    ::rename("repo/.git", "away");
    plant_config("away");
    ::rename("away", "repo/.git");
  });
  add("config-without-refs-for-a-moment", [](auto&) {
    ::rename("repo/.git/refs", "refs");
    plant_config("repo/.git");
    ::rename("refs", "repo/.git/refs");
  });
  add("config-without-objects-for-a-moment", [](auto&) {
    ::rename("repo/.git/objects", "objects");
    plant_config("repo/.git");
    ::symlink("../../objects", "repo/.git/objects");
  });
  add("config-worktree", [](auto&) { write_file("repo/.git/config.worktree", evil); });
  add("config-worktree-lock", [](auto&) {
    write_file("repo/.git/config.worktree.lock", evil);
    ::rename("repo/.git/config.worktree.lock", "repo/.git/config.worktree");
  });
  add("config-worktree-command", [](auto&) {
    shell("git -C repo config extensions.worktreeConfig true;"
          "git -C repo config --worktree core.fsmonitor 'touch planted'");
  });
  add("remote-helper", [](auto&) { shell("git -C repo remote add o 'ext::touch planted'"); });
  add("remote-helper-of-a-branch",
      [](auto&) { shell("git -C repo config branch.master.remote 'ext::touch planted'"); });
  add("remote-helper-of-a-branch-for-push",
      [](auto&) { shell("git -C repo config branch.master.pushRemote 'ext::touch planted'"); });
  add("remote-helper-by-default",
      [](auto&) { shell("git -C repo config remote.pushDefault 'ext::touch planted'"); });
  add("remote-helper-by-scheme", [](auto&) {
    shell("git -C repo remote add o 'ext://touch planted'; git -C repo remote add p foo://x");
  });
  add("missing-objects-from-anywhere", [](auto&) {
    shell("git -C repo remote add o https://example.org/x;"
          "git -C repo config remote.o.promisor true;"
          "git -C repo config remote.o.partialCloneFilter blob:none;"
          "git -C repo config extensions.partialClone o");
  });
  add("signing", [](auto&) {
    shell("git -C repo config commit.gpgSign true; git -C repo config user.signingKey x;"
          "git -C repo config log.showSignature true");
  });
  add("files-for-others", [](auto&) { shell("git -C repo config core.sharedRepository world"); });
  add("remotes-file", [](auto&) {
    ::mkdir("repo/.git/remotes", 0755);
    write_file("repo/.git/remotes/o", "URL: ext::touch planted\n");
  });
  add("branches-file", [](auto&) {
    ::mkdir("repo/.git/branches", 0755);
    write_file("repo/.git/branches/o", "ext::touch planted\n");
  });
  add("remotes-file-linked", [](auto&) {
    ::mkdir("repo/.git/remotes", 0755);
    write_file("mine", "URL: ext::touch planted\n");
    ::link("mine", "repo/.git/remotes/o");
  });
  add("remotes-moved-in", [](auto&) {
    ::mkdir("mine", 0755);
    write_file("mine/o", "URL: ext::touch planted\n");
    ::rename("mine", "repo/.git/remotes");
  });
  add("alias", [](auto&) { shell("git -C repo config alias.st '!touch planted'"); });
  add("filter", [](auto&) {
    shell("git -C repo config filter.x.clean 'touch planted'; echo '* filter=x' > "
          "repo/.gitattributes");
  });
}

} // namespace villain
