// Ways to plant something in a Git directory, old or new, that makes Git run a program or
// read its settings from elsewhere. repo/ is a repository of the host's.
#include "villain.hpp"

#include <sys/wait.h>

namespace villain {

namespace {

const std::string evil = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch planted\n";

void plant_config(const std::string& git_dir) {
  write_file(git_dir + "/config.lock", evil);
  if (::rename((git_dir + "/config.lock").c_str(), (git_dir + "/config").c_str()) != 0)
    std::perror("config");
}
void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0)
    std::fprintf(stderr, "failed: %s\n", command.c_str());
}
// A Git directory by hand: everything but what `without` names.
void bare(const std::string& at, const std::string& without = "") {
  ::mkdir(at.c_str(), 0755);
  write_file(at + "/HEAD", "ref: refs/heads/master\n");
  for (const char* name : {"objects", "refs"})
    if (without != name)
      ::mkdir((at + "/" + name).c_str(), 0755);
}
// What the host's `git init` adopts once it is called .git.
void make_future(const std::string& at) {
  ::mkdir(at.c_str(), 0755);
  ::mkdir((at + "/hooks").c_str(), 0755);
  write_file(at + "/hooks/post-commit", "#!/bin/sh\n");
}
int open_write(const std::string& path, int flags = O_WRONLY | O_TRUNC) {
  const int fd = ::open(path.c_str(), flags, 0644);
  if (fd < 0)
    std::perror(path.c_str());
  else if (::write(fd, evil.data(), evil.size()) < 0)
    std::perror("write");
  return fd;
}

} // namespace

void add_git_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    list.push_back({std::string("git-") + name, run, ""});
  };
  // The settings of a repository that is there.
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
  // Hooks.
  add("hook", [](auto&) { write_file("repo/.git/hooks/pre-commit", "#!/bin/sh\n"); });
  add("hook-renamed", [](auto&) {
    write_file("repo/.git/hooks/x.sample", "#!/bin/sh\n");
    ::rename("repo/.git/hooks/x.sample", "repo/.git/hooks/pre-commit");
  });
  add("hook-linked", [](auto&) {
    write_file("mine", "#!/bin/sh\n");
    ::link("mine", "repo/.git/hooks/pre-commit");
  });
  add("hook-symlink", [](auto&) { ::symlink("../../../plain.txt", "repo/.git/hooks/pre-commit"); });
  add("hook-from-inside", [](auto&) {
    ::chdir("repo/.git/hooks");
    write_file("post-checkout", "#!/bin/sh\n");
  });
  add("hook-directory-moved-in", [](auto&) {
    ::mkdir("mine", 0755);
    write_file("mine/pre-commit", "#!/bin/sh\n");
    ::rename("repo/.git/hooks", "old");
    ::rename("mine", "repo/.git/hooks");
  });
  add("hook-directory-link", [](auto&) {
    ::mkdir("mine", 0755);
    write_file("mine/pre-commit", "#!/bin/sh\n");
    ::rename("repo/.git/hooks", "old");
    ::symlink("../../mine", "repo/.git/hooks");
  });
  add("hook-directory-exchanged", [](auto&) {
    ::mkdir("mine", 0755);
    write_file("mine/pre-commit", "#!/bin/sh\n");
    ::syscall(SYS_renameat2, AT_FDCWD, "repo/.git/hooks", AT_FDCWD, "mine", 2);
  });
  // Pointers.
  add("commondir", [](auto&) {
    bare("elsewhere", "HEAD");
    write_file("elsewhere/config", evil);
    write_file("repo/.git/commondir", "../../elsewhere\n");
  });
  add("commondir-of-a-worktree", [](auto&) {
    bare("elsewhere");
    shell("git -C repo worktree add -q ../tree");
    ::unlink("repo/.git/worktrees/tree/commondir");
    write_file("repo/.git/worktrees/tree/commondir", "../../../../elsewhere\n");
  });
  add("commondir-written", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    const int fd = ::open("repo/.git/worktrees/tree/commondir", O_WRONLY | O_TRUNC);
    if (fd >= 0 && ::write(fd, "../../../../elsewhere\n", 22) < 0)
      std::perror("write");
  });
  add("commondir-moved-in", [](auto&) {
    write_file("mine", "../../elsewhere\n");
    ::rename("mine", "repo/.git/commondir");
  });
  // New repositories.
  add("new-bare", [](auto&) {
    bare("new.git");
    write_file("new.git/config", evil);
  });
  add("new-bare-config-first", [](auto&) {
    ::mkdir("new.git", 0755);
    write_file("new.git/config", evil);
    bare("new.git");
  });
  add("new-bare-in-the-root", [](auto&) {
    write_file("config", evil);
    bare(".");
  });
  add("new-bare-objects-last", [](auto&) {
    bare("new.git", "objects");
    write_file("new.git/config", evil);
    ::rename("sub2", "new.git/objects");
  });
  add("new-bare-refs-link", [](auto&) {
    bare("new.git", "refs");
    write_file("new.git/config", evil);
    ::symlink("../sub2", "new.git/refs");
  });
  add("new-bare-written-later", [](auto&) {
    ::mkdir("new.git", 0755);
    const int fd = ::open("new.git/config", O_WRONLY | O_CREAT, 0644);
    bare("new.git");
    if (::write(fd, evil.data(), evil.size()) < 0)
      std::perror("write");
  });
  add("new-bare-hard-link", [](auto&) {
    ::mkdir("new.git", 0755);
    write_file("new.git/config", "[core]\n");
    ::link("new.git/config", "mine");
    bare("new.git");
    open_write("mine");
  });
  add("new-bare-hooks-first", [](auto&) {
    ::mkdir("new.git", 0755);
    ::mkdir("new.git/hooks", 0755);
    write_file("new.git/hooks/pre-commit", "#!/bin/sh\n");
    bare("new.git");
  });
  add("new-bare-hooks-link-first", [](auto&) {
    ::mkdir("new.git", 0755);
    ::mkdir("mine", 0755);
    write_file("mine/pre-commit", "#!/bin/sh\n");
    ::symlink("../mine", "new.git/hooks");
    bare("new.git");
  });
  add("new-init", [](auto&) { shell("git init -q; git config core.fsmonitor 'touch planted'"); });
  add("new-init-hook", [](auto&) { shell("git init -q; echo x > .git/hooks/pre-commit"); });
  add("new-init-template", [](auto&) {
    shell("mkdir -p t/hooks; echo x > t/hooks/pre-commit; git init -q --template=$PWD/t");
  });
  add("new-init-template-config", [](auto&) {
    shell("mkdir t; printf '[core]\\nfsmonitor=touch planted\\n' > t/config;"
          "git init -q --template=$PWD/t");
  });
  add("new-nested-added", [](auto&) {
    shell("git init -q repo/nested; git -C repo/nested config core.fsmonitor 'touch planted';"
          "git -C repo/nested -c user.name=n -c user.email=e commit -q --allow-empty -m x;"
          "git -C repo add nested");
  });
  add("new-clone-with-config",
      [](auto&) { shell("git clone -q -c core.fsmonitor='touch planted' repo copy"); });
  add("new-gitfile-to-bare", [](auto&) {
    bare("elsewhere");
    write_file("elsewhere/config", evil);
    ::mkdir("tree", 0755);
    write_file("tree/.git", "gitdir: ../elsewhere\n");
  });
  add("submodule-config", [](auto&) {
    shell(
        "git clone -q repo other; git -C repo -c protocol.file.allow=always submodule --quiet add "
        "../other module; git -C repo/module config core.fsmonitor 'touch planted'");
  });
  add("submodule-hook", [](auto&) {
    shell(
        "git clone -q repo other; git -C repo -c protocol.file.allow=always submodule --quiet add "
        "../other module; echo x > repo/.git/modules/module/hooks/pre-commit");
  });
  add("remote-helper", [](auto&) { shell("git -C repo remote add o 'ext::touch planted'"); });
  add("remote-helper-of-a-branch",
      [](auto&) { shell("git -C repo config branch.master.remote 'ext::touch planted'"); });
  add("remote-helper-of-a-branch-for-push",
      [](auto&) { shell("git -C repo config branch.master.pushRemote 'ext::touch planted'"); });
  add("remote-helper-by-default",
      [](auto&) { shell("git -C repo config remote.pushDefault 'ext::touch planted'"); });
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
  add("new-bare-remotes-first", [](auto&) {
    ::mkdir("new.git", 0755);
    ::mkdir("new.git/remotes", 0755);
    write_file("new.git/remotes/o", "URL: ext::touch planted\n");
    bare("new.git");
  });
  add("future-renamed", [](auto&) {
    make_future("sub/t");
    ::rename("sub/t", "sub/.git");
  });
  add("future-config-renamed", [](auto&) {
    ::mkdir("sub/t", 0755);
    write_file("sub/t/config", evil);
    ::rename("sub/t", "sub/.git");
  });
  add("future-exchanged", [](auto&) {
    make_future("sub/t");
    ::mkdir("sub/.git", 0755);
    ::syscall(SYS_renameat2, AT_FDCWD, "sub/t", AT_FDCWD, "sub/.git", 2);
  });
  add("future-exchanged-back", [](auto&) {
    make_future("sub/t");
    ::mkdir("sub/.git", 0755);
    ::syscall(SYS_renameat2, AT_FDCWD, "sub/.git", AT_FDCWD, "sub/t", 2);
  });
  add("future-renamed-with-a-hidden-hook", [](auto&) {
    make_future("sub/t");
    ::chmod("sub/t", 0);
    ::rename("sub/t", "sub/.git");
    ::chmod("sub/.git", 0755);
  });
  add("future-linked", [](auto&) {
    make_future("mine");
    ::symlink("../mine", "sub/.git");
  });
  add("future-link-renamed", [](auto&) {
    make_future("mine");
    ::symlink("../mine", "sub/l");
    ::rename("sub/l", "sub/.git");
  });
  add("future-link-linked", [](auto&) {
    make_future("mine");
    ::symlink("../mine", "sub/l");
    ::link("sub/l", "sub/.git");
  });
  add("alias", [](auto&) { shell("git -C repo config alias.st '!touch planted'"); });
  add("filter", [](auto&) {
    shell("git -C repo config filter.x.clean 'touch planted'; echo '* filter=x' > "
          "repo/.gitattributes");
  });
}

} // namespace villain
