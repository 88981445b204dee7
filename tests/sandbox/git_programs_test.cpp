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
using testing::Contains;
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
         find_git_programs(tree, find_git(tree), {(top / "home").string()}).here) {
      EXPECT_NE(p.reason, "");
      if (p.path.rfind(tree + "/", 0) == 0)
        out.push_back(p.path.substr(tree.size() + 1) + (p.present ? "" : "?"));
    }
    return out;
  }

  // What counts in other trees; of the repository's own settings with "linked ".
  std::vector<std::string> in_trees() const {
    std::vector<std::string> out;
    const auto tree = (top / "tree").string();
    for (const tree_program& p :
         find_git_programs(tree, find_git(tree), {(top / "home").string()}).in_trees)
      out.push_back((p.linked ? "linked " : "") + p.path);
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

TEST_F(SandboxGitPrograms, RelativeNamesCountInOtherTrees) {
  write_file(top / "tree/tools/conv.py", "");
  settings("[core]\n\thooksPath = ./.husky/_/\n\tfsmonitor = " + (top / "tree/m").string() +
           "\n[diff \"y\"]\n\ttextconv = python3 tools/conv.py\n[filter \"x\"]\n\tclean = "
           "./tools/../own/clean %f\n\tsmudge = ~/clean\n\tprocess = ../above/x\n");
  write_file(top / "home/.gitconfig",
             "[core]\n\thooksPath = .githooks\n\tfsmonitor = ./own/clean\n");
  EXPECT_THAT(in_trees(),
              UnorderedElementsAre("linked .husky/_", "linked tools/conv.py", "linked own/clean",
                                   "linked ", ".githooks", "own/clean"));
  settings("[core]\n\thooksPath = .git/custom\n");
  EXPECT_THAT(in_trees(), Contains("linked .git/custom"));
  settings("[core]\n\thooksPath = .git/hooks\n");
  write_file(top / "home/.gitconfig", "[core]\n\thooksPath = .\n");
  EXPECT_THAT(in_trees(), IsEmpty());
}

// On another branch, or still to come.
TEST_F(SandboxGitPrograms, ScriptsThatAreNotThere) {
  settings(
      "[filter \"x\"]\n\tclean = python3 tools/clean.py %f\n\tsmudge = sh -c 'node a/b.js \"$1\"'\n"
      "\tprocess = cat tools/x.py\n[core]\n\tpager = less -R\n");
  EXPECT_THAT(found(), UnorderedElementsAre("tools/clean.py?", "a/b.js?"));
  EXPECT_THAT(in_trees(), UnorderedElementsAre("linked tools/clean.py", "linked a/b.js"));
}

TEST_F(SandboxGitPrograms, TheUsersCountWithoutARepository) {
  fs::remove_all(top / "tree/.git");
  write_file(top / "home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
  EXPECT_THAT(in_trees(), ElementsAre(".githooks"));
}

TEST_F(SandboxGitPrograms, SettingsOfARepositoryOnly) {
  settings("[core]\n\thooksPath = src\n");
  EXPECT_THAT(found(), ElementsAre("src?"));
  fs::remove(top / "tree/.git/refs"); // now a command can have written them
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(SandboxGitPrograms, Commands) {
  for (const char* name : {"tools/conv.py", "tools/run me", "data.txt"})
    write_file(top / "tree" / name, "");
  fs::permissions(top / "tree/tools/run me", fs::perms::owner_all);
  settings("[filter \"x\"]\n\tclean = ./tools/clean.sh %f\n\tprocess = data.txt\n"
           "[diff \"y\"]\n\ttextconv = /usr/bin/python3 -u tools/conv.py data\n"
           "[alias]\n\tgo = \"!cd x && 'tools/run me' data.txt\"\n"
           "[merge \"z\"]\n\tdriver = sh -c 'true' %O\n[core]\n\tfsmonitor = true\n");
  EXPECT_THAT(found(),
              UnorderedElementsAre("tools/clean.sh?", "tools/conv.py", "tools/run me", "data.txt"));
}

TEST_F(SandboxGitPrograms, CommandsInQuotesAndBehindWhatAShellExpands) {
  for (const char* name : {"a.sh", "b.sh", "c.sh", "d.sh", "e.sh", "f.sh", "g.sh", "h.js", "i.sh",
                           "deep/k.sh", "l.ts", "m.sh", "n n.sh", "o.sh", "data.txt"})
    write_file(top / "tree/tools" / name, "");
  const auto all_of = [&](const std::string& command) {
    std::string quoted = "[alias]\n\tx = \"!";
    for (const char c : command)
      quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    settings(quoted + "\"\n");
    auto all = found();
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  EXPECT_THAT(all_of(R"sh(sh -c 'tools/a.sh "$1"' -)sh"), ElementsAre("tools/a.sh"));
  EXPECT_THAT(all_of(R"sh("$(git rev-parse --show-toplevel)/tools/b.sh")sh"),
              ElementsAre("tools/b.sh"));
  EXPECT_THAT(all_of("$(git rev-parse --show-toplevel)/tools/b.sh"), ElementsAre("tools/b.sh"));
  EXPECT_THAT(all_of(R"sh("`git rev-parse --show-toplevel`"/tools/b.sh)sh"),
              ElementsAre("tools/b.sh"));
  EXPECT_THAT(all_of(R"sh(bash -c "cd tools && ./d.sh")sh"), ElementsAre("d.sh?", "tools/d.sh"));
  EXPECT_THAT(all_of("$PWD/tools/f.sh"), ElementsAre("tools/f.sh"));
  EXPECT_THAT(all_of("${PWD}/tools/gone.sh x"), ElementsAre("tools/gone.sh?"));
  EXPECT_THAT(all_of(R"sh(f() { . "$GIT_DIR/../tools/g.sh"; }; f)sh"), Contains("tools/g.sh"));
  EXPECT_THAT(all_of("NODE_OPTIONS=--x node --require=./tools/h.js"), ElementsAre("tools/h.js"));
  EXPECT_THAT(all_of(R"sh(sh -c "bash -c 'sh -c \"cd tools; cd deep; sh k.sh\"'")sh"),
              ElementsAre("tools/deep/k.sh"));
  EXPECT_THAT(all_of("npx tsx tools/l.ts"), ElementsAre("tools/l.ts"));
  EXPECT_THAT(all_of(R"sh(echo "$(sh tools/m.sh)")sh"), ElementsAre("tools/m.sh"));
  EXPECT_THAT(all_of("if true; then 'tools/n n.sh'; fi"), ElementsAre("tools/n n.sh"));
  EXPECT_THAT(all_of("$HOME/../tree/tools/o.sh"), Contains("tools/o.sh"));
  EXPECT_THAT(all_of(R"sh(git commit -m "about tools/data.txt")sh"), IsEmpty());
  EXPECT_THAT(all_of("cat tools/data.txt | grep x > tools/data.txt"), IsEmpty());
}

TEST_F(SandboxGitPrograms, CommandsWithoutAnEndEnd) {
  for (const std::string& command :
       {std::string(100'000, '('), std::string(100'000, '\''), std::string(100'000, '$'),
        std::string("$("), std::string("`"), std::string("${"), std::string("$"), std::string("!"),
        std::string(10'000, 'a') + "/" + std::string(10'000, 'b')}) {
    settings("[core]\n\tpager = \"" + command + "\"\n");
    found();
  }
  std::string deep = "tools/a.sh";
  for (int i = 0; i < 50'000; ++i)
    deep = "$(" + deep;
  settings("[core]\n\tpager = \"" + deep + "\"\n");
  found();
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
