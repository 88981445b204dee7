// Ways to plant something else in a Git directory that makes Git run a program or read its
// settings from elsewhere: hooks, pointers, directories that become one later. repo/ is a
// repository of the host's.
#include "git.hpp"

namespace villain {

namespace {

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

} // namespace

void add_git_directory_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    add_git_attack(list, name, run);
  };
  // What the host's Git writes, or waits for, where a link or a pipe leads or stands.
  add("log-link", [](auto&) {
    ::mkdir("repo/.git/logs", 0755);
    ::unlink("repo/.git/logs/HEAD");
    ::symlink("/tmp/out", "repo/.git/logs/HEAD");
  });
  add("log-link-upwards", [](auto&) {
    ::mkdir("repo/.git/logs", 0755);
    ::unlink("repo/.git/logs/HEAD");
    ::symlink("x/../../../../out", "repo/.git/logs/HEAD");
  });
  add("message-link", [](auto&) {
    ::unlink("repo/.git/COMMIT_EDITMSG");
    ::symlink("/tmp/out", "repo/.git/COMMIT_EDITMSG");
  });
  add("message-link-to-the-settings", [](auto&) {
    ::unlink("repo/.git/COMMIT_EDITMSG");
    ::symlink("config", "repo/.git/COMMIT_EDITMSG");
  });
  add("message-link-to-a-hook", [](auto&) {
    ::unlink("repo/.git/COMMIT_EDITMSG");
    ::symlink("hooks/pre-commit", "repo/.git/COMMIT_EDITMSG");
  });
  add("links-to-the-settings-before-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    ::symlink("config", "b/MERGE_MSG");
    bare("b");
  });
  add("message-link-moved-in", [](auto&) {
    ::symlink("/tmp/out", "l");
    ::rename("l", "repo/.git/COMMIT_EDITMSG");
  });
  add("message-link-linked-in", [](auto&) {
    ::symlink("/tmp/out", "l");
    ::unlink("repo/.git/COMMIT_EDITMSG");
    ::linkat(AT_FDCWD, "l", AT_FDCWD, "repo/.git/COMMIT_EDITMSG", 0);
  });
  add("links-in-a-directory-moved-in", [](auto&) {
    ::mkdir("l", 0755);
    ::symlink("/tmp/out", "l/HEAD");
    ::rename("repo/.git/logs", "repo/.git/old");
    ::rename("l", "repo/.git/logs");
  });
  add("links-before-it-is-called-so", [](auto&) {
    ::mkdir("n", 0755);
    bare("b");
    ::rename("b/objects", "o");
    ::symlink("/tmp/out", "b/COMMIT_EDITMSG");
    ::rename("o", "b/objects");
    ::rename("b", "n/.git");
  });
  add("links-before-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    ::mkdir("b/logs", 0755);
    ::symlink("/tmp/out", "b/logs/HEAD");
    bare("b");
  });
  add("links-in-one-of-another-name", [](auto&) {
    bare("b");
    ::mkdir("b/logs", 0755);
    ::symlink("/tmp/out", "b/logs/HEAD");
  });
  add("links-moved-into-one-of-another-name", [](auto&) {
    bare("b");
    ::mkdir("l", 0755);
    ::symlink("/tmp/out", "l/HEAD");
    ::rename("l", "b/logs");
  });
  add("head-pipe", [](auto&) {
    ::unlink("repo/.git/HEAD");
    ::mkfifo("repo/.git/HEAD", 0644);
  });
  add("pipe-moved-in", [](auto&) {
    ::mkfifo("p", 0644);
    ::rename("p", "repo/.git/COMMIT_EDITMSG");
  });
  add("ignore-pipe", [](auto&) {
    ::mkdir("n", 0755);
    ::mkfifo("n/.gitignore", 0644);
  });
  add("ignore-pipe-moved", [](auto&) {
    ::mkfifo("p", 0644);
    ::rename("p", ".gitignore");
  });
  add("ignore-pipe-exchanged", [](auto&) {
    ::mkdir("n", 0755);
    write_file("n/.gitignore", "x\n");
    ::mkfifo("p", 0644);
    ::syscall(SYS_renameat2, AT_FDCWD, "p", AT_FDCWD, "n/.gitignore", 2);
  });
  add("ignore-pipe-linked", [](auto&) {
    ::mkfifo("p", 0644);
    ::link("p", ".gitignore");
  });
  // Hooks.
  add("mailmap-pipe", [](auto&) { ::mkfifo("repo/.mailmap", 0666); });
  add("bare-by-settings", [](auto&) { shell("git -C repo config core.bare true"); });
  add("module-worktree", [](auto&) {
    shell("ln -s /etc away; mkdir -p m repo/.git/modules; git init -q --separate-git-dir "
          "repo/.git/modules/m m; "
          "git -C m config core.worktree ../../../away");
  });
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
}

} // namespace villain
