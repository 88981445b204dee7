#include "sandbox/guard/git_state.hpp"

#include <gtest/gtest.h>
#include <string>

using namespace piorch::sandbox::guard;

namespace {

const std::string sha1(40, 'a');
const std::string sha256(64, '0');

} // namespace

TEST(SandboxGuardGitState, TakesOrdinaryReferences) {
  for (const auto& text :
       {std::string(), sha1, sha1 + "\n", sha256 + "\n", sha1 + " \t\r\n",
        std::string(40, 'F') + "\n", std::string("ref: refs/heads/main\n"),
        std::string("ref:refs/heads/a/b.c-d"),
        std::string("ref: \t\n\r refs/remotes/origin/HEAD \n\n"),
        std::string("ref: refs/heads/.invalid\n"), // with tables of references
        std::string("ref: refs/heads/\xc3\xbc@{x\n"), std::string("ref: refs/heads/x.git\n"),
        std::string("this repository uses the reftable format\n")})
    EXPECT_STREQ(bad_ref(text), nullptr) << text;
}

TEST(SandboxGuardGitState, RefusesReferencesThatLeadOutside) {
  for (const char* name : {"",
                           "HEAD",
                           "config",
                           "refs",
                           "refs/",
                           "refs//a",
                           "refs/heads/",
                           "refs/./a",
                           "refs/../config",
                           "refs/heads/../../config",
                           "refs/heads/..",
                           "/refs/heads/a",
                           "../refs/heads/a",
                           "refs/heads/a.lock",
                           "refs/a.lock/b",
                           "refs/.git/a",
                           "refs/.GIT",
                           "refs/git~1/a",
                           "refs/heads/a b",
                           "refs/heads/a\tb",
                           "refs/heads/a\nb",
                           "refs/heads/a\\b",
                           "refs/a~1",
                           "refs/a^",
                           "refs/a:b",
                           "refs/a?",
                           "refs/a*",
                           "refs/a[",
                           "refs/a\x7f",
                           "refs/a\x01",
                           "\vrefs/heads/a",
                           "Refs/heads/a",
                           "refs\\heads",
                           "ref: refs/heads/a",
                           "refs/heads/a\v"})
    for (const char* blanks : {"", " ", "\t", "\n", " \r\n\t "})
      for (const char* end : {"", "\n", " \n", "\r\n"})
        EXPECT_STRNE(bad_ref(std::string("ref:") + blanks + name + end), nullptr) << name;
  EXPECT_STRNE(bad_ref(std::string("ref: refs/heads/a\0\n", 19)), nullptr);
  EXPECT_STRNE(bad_ref(std::string("ref: refs/heads/a\0/../b", 23)), nullptr);
}

TEST(SandboxGuardGitState, RefusesWhatIsNoReference) {
  for (const auto& text : {std::string("\n"),
                           std::string(" "),
                           std::string("ref"),
                           std::string("refs/heads/a\n"),
                           " ref: refs/heads/a" + std::string(),
                           std::string("REF: refs/heads/a"),
                           sha1.substr(1),
                           sha1 + "a",
                           sha1 + "g",
                           sha1 + "/..",
                           sha256 + "0",
                           " " + sha1,
                           "gitdir: ../x" + std::string(),
                           sha1 + " " + sha1,
                           sha1 + "\n" + sha1 + "\n",
                           sha1 + "\t\tbranch 'a' of b",
                           sha1 + " x",
                           sha1 + "\n[core]\n",
                           sha256 + " \n\t#",
                           std::string("\xef\xbb\xbfref: refs/heads/a"),
                           std::string("x")})
    EXPECT_STRNE(bad_ref(text), nullptr) << text;
  EXPECT_STRNE(bad_ref(sha1 + std::string(1, '\0')), nullptr);
}

TEST(SandboxGuardGitState, KnowsTheNamesOfIndexes) {
  for (const char* path : {"index", "sharedindex.0123", "worktrees/x/index", "modules/a/b/index",
                           "modules/a/sharedindex.1", "svn/refs/remotes/git-svn/index"})
    EXPECT_TRUE(is_index_name(path)) << path;
  for (const char* path : {"", "index.lock", "sharedindex.0.lock", "sharedindex", "index/x",
                           "xindex", "sharedindex_abc", "refs/heads/index", "logs/refs/heads/index",
                           "worktrees/x/refs/bisect/index", "config"})
    EXPECT_FALSE(is_index_name(path)) << path;
}

TEST(SandboxGuardGitState, KnowsTheNamesOfReferences) {
  for (const char* path :
       {"HEAD", "ORIG_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE",
        "NOTES_MERGE_REF", "worktrees/x/HEAD", "worktrees/x/ORIG_HEAD", "modules/a/b/HEAD",
        "refs/heads/a", "refs/stash", "refs/heads", "modules/logs/refs/heads/a", "modules/svn/HEAD",
        "refs/heads/FETCH_HEAD", "refs/remotes/origin/HEAD", "worktrees/x/refs/bisect/bad"})
    EXPECT_TRUE(is_ref_path(path)) << path;
  for (const char* path :
       {"", "refs", "FETCH_HEAD", "MERGE_HEAD", "modules/a/FETCH_HEAD", "HEAD.lock",
        "refs/heads/a.lock", "packed-refs", "logs/HEAD", "logs/refs/heads/a",
        "svn/refs/remotes/git-svn/.rev_map", "config", "HEADS", "xrefs/a", "head"})
    EXPECT_FALSE(is_ref_path(path)) << path;
}
