// Ways to give a work tree a program that the host's Git runs by a setting that was there before:
// .hk is the hooks directory of trees whose .git is a file, all/hooks of every tree, .husky/_ of
// the former. linked/ is such a tree of the host's.
#include "git.hpp"

#include <thread>

namespace villain {

namespace {

constexpr const char* pointer = "gitdir: ../repo/.git/worktrees/t\n";

void make(const std::string& directory) { shell("mkdir -p " + directory); }
void plant(const std::string& directory) {
  make(directory);
  write_file(directory + "/pre-commit", evil);
}
void point(const std::string& tree) {
  make(tree);
  write_file(tree + "/.git", pointer);
}
void move(const char* from, const char* to, unsigned flags = 0) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags) != 0)
    std::perror(to);
}

} // namespace

void add_tree_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    list.push_back({std::string("tree-") + name, run, ""});
  };
  add("pointer-first", [](auto&) { point("t"), plant("t/.hk"); });
  add("program-first", [](auto&) { plant("t/.hk"), point("t"); });
  add("program-of-any-tree", [](auto&) { make("t/.git"), plant("t/all/hooks"); });
  add("program-of-any-tree-first", [](auto&) { plant("t/all/hooks"), make("t/.git"); });
  add("git-init", [](auto&) { plant("t/all/hooks"), shell("git init -q t"); });
  add("worktree-add", [](auto&) {
    plant("repo/.hk");
    shell("cd repo && git add -f .hk && git -c user.name=x -c user.email=x commit -qm x && "
          "rm -r .hk && git worktree add ../t");
  });
  add("bare", [](auto&) { shell("git init -q --bare t"), plant("t/all/hooks"); });
  add("bare-moved-to-a-tree",
      [](auto&) { shell("git init -q --bare x"), plant("t/.hk"), move("x", "t/.git"); });
  add("becomes-bare", [](auto&) { plant("t/all/hooks"), make("t/objects"), make("t/refs"); });
  add("in-the-git-directory", [](auto&) { shell("git init -q t"), plant("t/.git/all/hooks"); });
  add("directory-moved-in", [](auto&) { point("t"), plant("x"), move("x", "t/.hk"); });
  add("parent-moved-in", [](auto&) { point("t"), plant("x/hooks"), move("x", "t/all"); });
  add("parents-exchanged",
      [](auto&) { point("t"), make("t/all"), plant("x/hooks"), move("x", "t/all", 2); });
  add("exchanged-from-the-tree",
      [](auto&) { point("t"), make("t/all"), plant("x/hooks"), move("t/all", "x", 2); });
  add("link-on-the-way",
      [](auto&) { point("t"), make("x"), ::symlink("../x", "t/all"), plant("x/hooks"); });
  add("link-first", [](auto&) {
    make("t"), make("x"), ::symlink("../x", "t/all"), point("t"), plant("x/hooks");
  });
  add("link-moved-in", [](auto&) {
    point("t"), make("x"), ::symlink("../x", "l"), move("l", "t/all"), plant("x/hooks");
  });
  add("link-linked-in", [](auto&) {
    point("t"), make("x"), ::symlink("../x", "l"), ::link("l", "t/all"), plant("x/hooks");
  });
  add("link-to-the-program", [](auto&) { point("t"), plant("x"), ::symlink("../x", "t/.hk"); });
  add("pointer-moved-in",
      [](auto&) { plant("t/.hk"), write_file("g", pointer), move("g", "t/.git"); });
  add("pointer-linked-in",
      [](auto&) { plant("t/.hk"), write_file("g", pointer), ::link("g", "t/.git"); });
  add("pointer-exchanged", [](auto&) {
    plant("t/.hk"), write_file("g", pointer), make("t/.git"), move("g", "t/.git", 2);
  });
  add("pointer-for-a-directory",
      [](auto&) { make("t/.git"), plant("t/.hk"), ::rmdir("t/.git"), point("t"); });
  add("pointer-again", [](auto&) { point("t"), ::unlink("t/.git"), plant("t/.hk"), point("t"); });
  add("husky", [](auto&) { point("t"), plant("t/.husky/_"); });
  add("husky-moved-in", [](auto&) {
    point("t"), make("t/.husky"), plant("t/.husky/x"), move("t/.husky/x", "t/.husky/_");
  });
  add("husky-beside", [](auto&) { write_file("linked/.husky/pre-commit", evil); });
  add("there-written", [](auto&) { open_write("linked/.hk/pre-commit"); });
  add("there-new", [](auto&) { write_file("linked/.hk/post-checkout", evil); });
  add("there-linked-out", [](auto&) { ::link("linked/.hk/pre-commit", "out"), open_write("out"); });
  add("there-magic", [](auto&) {
    const int fd = ::open("linked/.hk/pre-commit", O_RDONLY);
    open_write("/proc/self/fd/" + std::to_string(fd));
  });
  add("there-from-inside", [](auto&) {
    if (::chdir("linked/.hk") == 0)
      open_write("./pre-commit", O_WRONLY | O_TRUNC);
  });
  add("both-at-once", [](auto&) {
    for (int i = 0; i < 300; ++i) {
      const std::string t = "t" + std::to_string(i);
      make(t);
      std::thread other([&] { write_file(t + "/.git", pointer); });
      plant(t + "/.hk");
      other.join();
    }
  });
}

} // namespace villain
