// Files of a work tree that the host's Git runs because settings name them.
#include "sandbox/git_programs.hpp"

#include "tests/support/workspace.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;
using test::write_file;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SandboxGitPrograms : public testing::Test {
protected:
  SandboxGitPrograms() {
    top = fs::canonical(base.path());
    for (const char* name : {"home", "tree/.git/objects", "tree/.git/refs"})
      fs::create_directories(top / name);
  }
  void settings(const std::string& text) const { write_file(top / "tree/.git/config", text); }
  // Relative to the work tree; absent ones with "?".
  std::vector<std::string> found() const {
    std::vector<std::string> out;
    const auto tree = (top / "tree").string();
    for (const protected_path& p :
         protect_git_programs(tree, find_git(tree), {(top / "home").string()})) {
      EXPECT_NE(p.reason, "");
      if (p.path.rfind(tree + "/", 0) == 0)
        out.push_back(p.path.substr(tree.size() + 1) + (p.present ? "" : "?"));
    }
    return out;
  }

  test::temp_dir base;
  fs::path top;
};

TEST_F(SandboxGitPrograms, NothingInAnOrdinaryRepository) {
  write_file(top / "tree/src/main.c", "");
  settings("[core]\n\tbare = false\n\teditor = vim\n[user]\n\tname = src\n"
           "\tsigningKey = ./key.pub\n[commit]\n\tgpgSign = true\n"
           "[remote \"o\"]\n\turl = ../src/main.c\n"
           "\tpromisor = true\n\tpartialCloneFilter = sparse:oid=main:src/x\n[alias]\n\tst = "
           "status src/main.c\n"
           "\tadd = !git add src/main.c\n[core]\n\texcludesFile = src/main.c\n"
           "[credential]\n\thelper = cache\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(SandboxGitPrograms, HookDirectories) {
  settings("[core]\n\thooksPath = ./tools/../.githooks/\n");
  EXPECT_THAT(found(), ElementsAre(".githooks?"));
  fs::create_directories(top / "tree/.husky/_");
  settings("[core]\n\thooksPath = .husky/_\n");
  EXPECT_THAT(found(), ElementsAre(".husky"));
  settings("[core]\n\thooksPath = .\n");
  EXPECT_THAT(found(), IsEmpty()) << "the whole work tree";
  fs::create_directories(top / "tree/real");
  fs::create_symlink("real", top / "tree/hooks");
  settings("[core]\n\thooksPath = " + (top / "tree/hooks").string() + "\n");
  EXPECT_THAT(found(), UnorderedElementsAre("hooks", "real"));
}

TEST_F(SandboxGitPrograms, Commands) {
  for (const char* name : {"tools/conv.py", "tools/run me", "data.txt"})
    write_file(top / "tree" / name, "");
  fs::permissions(top / "tree/tools/run me", fs::perms::owner_all);
  settings("[filter \"x\"]\n\tclean = ./tools/clean.sh %f\n\tprocess = data.txt\n"
           "[diff \"y\"]\n\ttextconv = /usr/bin/python3 -u tools/conv.py data\n"
           "[alias]\n\tgo = \"!cd x && 'tools/run me' data.txt\"\n"
           "[merge \"z\"]\n\tdriver = sh -c 'true' %O\n[core]\n\tfsmonitor = true\n");
  EXPECT_THAT(found(), UnorderedElementsAre("tools/clean.sh?", "tools/conv.py", "tools/run me"));
}

TEST_F(SandboxGitPrograms, IncludedSettingsAndTheUsers) {
  settings("[include]\n\tpath = ../.gitshared\n[includeIf \"gitdir:x\"]\n\tpath = ../absent\n");
  write_file(top / "tree/.gitshared", "[include]\n\tpath = .gitshared\n\tpath = more/it\n");
  write_file(top / "tree/more/it", "[core]\n\tpager = ./tools/pager\n");
  write_file(top / "home/.gitconfig", "[core]\n\thooksPath = .githooks\n[pager]\n\tx = ~/bin/x\n");
  auto all = found();
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_THAT(
      all, UnorderedElementsAre(".gitshared", "absent?", "more/it", "tools/pager?", ".githooks?"));
}

} // namespace
} // namespace piorch::sandbox
