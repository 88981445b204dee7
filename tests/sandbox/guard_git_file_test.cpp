#include "sandbox/guard/git_file.hpp"

#include <gtest/gtest.h>

using namespace piorch::sandbox::guard;

namespace {

// What /w/a/b/.git gets for this text; empty if it gets none.
std::string written(std::string_view text, std::string_view directory = "/w/a/b") {
  git_file read;
  return read_git_file(text, directory, read) ? read.text() : "";
}

} // namespace

TEST(SandboxGuardGitFile, BecomesAbsoluteAndPlain) {
  for (const char* text :
       {"gitdir: /w/r/.git\n", "gitdir: /w/r/.git", "gitdir: /w/r/.git\n\n",
        "gitdir: ../../r/.git\n", "gitdir: ../.././r//.git/\n", "gitdir: //w/r/./.git/"})
    EXPECT_EQ(written(text), "gitdir: /w/r/.git\n") << text;
  EXPECT_EQ(written("gitdir: .git"), "gitdir: /w/a/b/.git\n");
  EXPECT_EQ(written("gitdir:  x\n"), "gitdir: /w/a/b/ x\n"); // only one blank is of the key
  EXPECT_EQ(written("gitdir: x", "/"), "gitdir: /x\n");
  EXPECT_EQ(written("gitdir: ../x", "/w/"), "gitdir: /x\n");
}

TEST(SandboxGuardGitFile, OnlyUpAndIntoADotGitStaysRelative) {
  EXPECT_EQ(written("gitdir: ../../.git/modules/b\n"), "gitdir: ../../.git/modules/b\n");
  EXPECT_EQ(written("gitdir: .././/.git/modules/x/.git/y/"), "gitdir: ../.git/modules/x/.git/y\n");
  EXPECT_EQ(written("gitdir: ../.git"), "gitdir: /w/a/.git\n"); // somebody's own, not a part of it
  EXPECT_EQ(written("gitdir: .git/modules/b"), "gitdir: /w/a/b/.git/modules/b\n");
  EXPECT_EQ(written("gitdir: ../.GIT/modules/b"), "gitdir: /w/a/.GIT/modules/b\n");
  git_file read;
  ASSERT_TRUE(read_git_file("gitdir: ../../.git/modules/b\n", "/w/a/b", read));
  EXPECT_EQ(read.path, "/w/.git/modules/b");
  EXPECT_EQ(read.levels, 2u);
}

TEST(SandboxGuardGitFile, RefusesWhatGitDoesNotWrite) {
  const std::string good = "gitdir: /w/r/.git";
  for (const std::string& text : {std::string(),
                                  std::string("\n"),
                                  std::string("gitdir: "),
                                  std::string("gitdir: \n"),
                                  std::string("gitdir: /"),
                                  std::string("gitdir: ."),
                                  std::string("gitdir: ../.."),
                                  "x" + good,
                                  " " + good,
                                  std::string("gitdir:/w"),
                                  std::string("Gitdir: /w"),
                                  std::string("gitdir\t: /w"),
                                  good + '\0',
                                  good + '\0' + "\n",
                                  good + "\r\n",
                                  good + "\nx",
                                  good + "\n\r",
                                  std::string("gitdir: /w\n/x"),
                                  good + "/..",
                                  std::string("gitdir: /../w"),
                                  std::string("gitdir: a/../b"),
                                  std::string("gitdir: ../../../../x")})
    EXPECT_EQ(written(text), "") << text;
  EXPECT_EQ(written(good, ""), "");
  EXPECT_EQ(written("gitdir: x", "(unreachable)/w"), "");
  EXPECT_EQ(written("gitdir: x", "/w/\n"), ""); // Git would drop it
}
