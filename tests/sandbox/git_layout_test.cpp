#include "sandbox/git_layout.hpp"

#include "tests/support/workspace.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;
using kind = git_layout::kind_type;
using test::write_file;
using testing::AllOf;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

class SandboxGitLayout : public testing::Test {
protected:
  std::string at(const std::string& name) const { return fs::canonical(base.path()) / name; }
  std::string tree() const { return at("tree"); }

  // A repository with a linked work tree, as Git lays them out.
  void make_worktree() {
    write_file(at("repo/.git/HEAD"), "ref: refs/heads/main\n");
    write_file(at("repo/.git/worktrees/tree/gitdir"), at("tree/.git") + "\n");
    write_file(at("repo/.git/worktrees/tree/commondir"), "../..\n");
    write_file(at("tree/.git"), "gitdir: " + at("repo/.git/worktrees/tree") + "\n");
  }
  void make_submodule(const std::string& worktree) {
    for (const char* name : {"objects", "refs"})
      fs::create_directories(fs::path(at("repo/.git/modules/lib")) / name);
    write_file(at("repo/.git/modules/lib/config"), "[core]\n\tworktree = " + worktree + "\n");
    write_file(at("tree/.git"), "gitdir: ../repo/.git/modules/lib\n");
  }
  static std::vector<std::string> names(const std::vector<protected_path>& from, bool present) {
    std::vector<std::string> out;
    for (const protected_path& p : from)
      if (p.present == present)
        out.push_back(p.path);
    return out;
  }

  SandboxGitLayout() { fs::create_directories(tree()); }
  test::temp_dir base;
};

TEST_F(SandboxGitLayout, None) { EXPECT_EQ(find_git(tree()).kind, kind::none); }

TEST_F(SandboxGitLayout, ADirectory) {
  fs::create_directories(at("tree/.git"));
  const auto git = find_git(tree());
  EXPECT_EQ(git.kind, kind::directory);
  EXPECT_EQ(git.git_dir, at("tree/.git"));
  EXPECT_EQ(git.common_dir, git.git_dir);
}

TEST_F(SandboxGitLayout, ALinkedWorkTreeThatPointsBack) {
  make_worktree();
  const auto git = find_git(tree());
  EXPECT_EQ(git.kind, kind::worktree);
  EXPECT_EQ(git.git_dir, at("repo/.git/worktrees/tree"));
  EXPECT_EQ(git.common_dir, at("repo/.git"));
}

TEST_F(SandboxGitLayout, AWorkTreeWhoseBackLinkNamesAnother) {
  make_worktree();
  write_file(at("other/.git"), "x");
  write_file(at("repo/.git/worktrees/tree/gitdir"), at("other/.git") + "\n");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign);
}

TEST_F(SandboxGitLayout, AWorkTreeWhoseCommonDirectoryIsElsewhere) {
  make_worktree();
  fs::create_directories(at("private"));
  write_file(at("repo/.git/worktrees/tree/commondir"), at("private") + "\n");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign) << "it would make that writable";
}

TEST_F(SandboxGitLayout, ASubmoduleThatPointsBack) {
  make_submodule("../../../../tree");
  const auto git = find_git(tree());
  EXPECT_EQ(git.kind, kind::submodule);
  EXPECT_EQ(git.git_dir, at("repo/.git/modules/lib"));
}

TEST_F(SandboxGitLayout, ASubmoduleThatPointsElsewhere) {
  fs::create_directories(at("other"));
  make_submodule("../../../../other");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign);
}

// Made in a sandbox: its guard leaves the work tree out.
TEST_F(SandboxGitLayout, ASubmoduleThatSaysNothingCountsAtItsPlace) {
  for (const char* part : {"objects", "refs"})
    fs::create_directories(at("repo/.git/modules/lib/deep/") + part);
  write_file(at("repo/.git/modules/lib/deep/config"), "[core]\n\tbare = false\n");
  for (const char* tree : {"repo/lib/deep", "repo/lib", "repo/other", "lib/deep"}) {
    write_file(at(tree) + "/.git", "gitdir: " + at("repo/.git/modules/lib/deep") + "\n");
    EXPECT_EQ(find_git(at(tree)).kind,
              std::string(tree) == "repo/lib/deep" ? kind::submodule : kind::foreign)
        << tree;
  }
}

TEST_F(SandboxGitLayout, WhatLiesInTheWorkTreeCannotVouchForItself) {
  write_file(at("tree/inner/gitdir"), at("tree/.git") + "\n");
  write_file(at("tree/inner/commondir"), "../..\n");
  write_file(at("tree/inner/config"), "[core]\nworktree = ..\n");
  write_file(at("tree/.git"), "gitdir: inner\n");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign);
}

TEST_F(SandboxGitLayout, WhatIsNoGitDirectoryIsNotBelieved) {
  write_file(at("evil/config"), "[core]\n\thooksPath = ../src\n");
  write_file(at("evil/HEAD"), "ref: refs/heads/main\n");
  fs::create_directories(at("evil/objects"));
  write_file(at("tree/.git"), "gitdir: ../evil\n");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign);
  EXPECT_EQ(find_git(tree()).git_dir, "");
  fs::create_directories(at("evil/refs"));
  EXPECT_EQ(find_git(tree()).git_dir, at("evil"));
  make_worktree();
  write_file(at("repo/.git/worktrees/tree/gitdir"), "elsewhere\n");
  EXPECT_EQ(find_git(tree()).kind, kind::foreign);
  EXPECT_EQ(find_git(tree()).common_dir, at("repo/.git")) << "Git goes there";
}

TEST_F(SandboxGitLayout, PointersThatAreNone) {
  for (const std::string& text :
       {std::string(), std::string("gitdir:"), std::string("gitdir: "),
        std::string("gitdir: ../gone"), std::string("nothing"), std::string("gitdir: \0x", 10),
        std::string(1 << 20, 'x'), "gitdir: " + std::string(20000, '/')}) {
    write_file(at("tree/.git"), text);
    EXPECT_EQ(find_git(tree()).kind, kind::foreign);
  }
  fs::remove(at("tree/.git"));
  fs::create_symlink("/etc", at("tree/.git"));
  EXPECT_EQ(find_git(tree()).kind, kind::foreign) << "a link vouches for nothing";
}

// As Git reads it, and up to a `.git`, where the guard knows what is a link.
TEST_F(SandboxGitLayout, TheWayOfAGitFile) {
  const std::string top = fs::canonical(base.path()).string();
  const auto ways = [&](const std::string& text) {
    write_file(at("tree/.git"), text);
    return ways_of_git_file(tree());
  };
  using testing::ElementsAre;
  EXPECT_THAT(ways("gitdir: ../x \n"), ElementsAre(at("x ")));
  EXPECT_THAT(ways("gitdir: ../x\t\r\n\n"), ElementsAre(at("x\t")));
  EXPECT_THAT(ways("gitdir:  x"), ElementsAre(at("tree/ x")));
  EXPECT_THAT(ways(std::string("gitdir: x\0y\n", 12)), ElementsAre(at("tree/x")));
  EXPECT_THAT(ways("gitdir: x" + std::string(10000, '\n')), ElementsAre(at("tree/x")));
  EXPECT_THAT(ways("gitdir: .././/a/b/\n"), ElementsAre(at("a/b")));
  EXPECT_THAT(ways("gitdir: " + top + "/a/.git/modules/b\n"), ElementsAre(at("a")));
  EXPECT_THAT(ways("gitdir: ../a/b/../../c"), ElementsAre(at("a/b"), at("c")));
  EXPECT_THAT(ways("gitdir: a/..\n"), ElementsAre(at("tree/a"), at("tree")));
  for (const char* text : {"", "gitdir:x", "gitdir: ", "gitdir: \n\r\n", " gitdir: x", "Gitdir: x"})
    EXPECT_THAT(ways(text), ElementsAre()) << text;
}

// Git drops nothing but line ends.
TEST_F(SandboxGitLayout, ABlankAtTheEndOfAPointerIsPartOfIt) {
  for (const char* file :
       {"tree/.git", "repo/.git/worktrees/tree/commondir", "repo/.git/worktrees/tree/gitdir"}) {
    make_worktree();
    ASSERT_EQ(find_git(tree()).kind, kind::worktree);
    std::string text = test::read_file(at(file));
    text.back() = ' ';
    write_file(at(file), text);
    EXPECT_EQ(find_git(tree()).kind, kind::foreign) << file;
  }
  make_submodule("\"../../../../tree\" # as a setting is read");
  EXPECT_EQ(find_git(tree()).kind, kind::submodule);
}

TEST_F(SandboxGitLayout, NamesThroughWhichGitRunsPrograms) {
  const std::string git = at("repo/.git");
  EXPECT_THAT(names(protect_git_dir(git, at("repo")), false),
              IsSupersetOf({"hooks", "config.worktree", "commondir"}));
  write_file(git + "/hooks/pre-commit", "");
  write_file(git + "/modules/a/HEAD", "");
  write_file(git + "/modules/a/hooks/post-checkout", "");
  write_file(git + "/modules/a/modules/inner/HEAD", "");
  write_file(git + "/modules/a/modules/inner/hooks/x", "");
  write_file(git + "/modules/with/slash/HEAD", "");
  write_file(git + "/modules/with/slash/config.worktree", "");
  write_file(git + "/worktrees/t/commondir", "");
  write_file(git + "/worktrees/t/gitdir", "");
  EXPECT_THAT(names(protect_git_dir(git, at("repo")), true),
              IsSupersetOf({"hooks", "modules/a/hooks", "modules/a/modules/inner/hooks",
                            "modules/with/slash/config.worktree", "worktrees/t/commondir",
                            "worktrees/t/gitdir"}));
}

TEST_F(SandboxGitLayout, EndlessModulesEnd) {
  std::string path = at("repo/.git");
  for (int i = 0; i < 60; ++i)
    path += "/modules/m";
  fs::create_directories(path);
  protect_git_dir(at("repo/.git"), at("repo")); // a bound, not a crash
}

} // namespace
} // namespace piorch::sandbox
