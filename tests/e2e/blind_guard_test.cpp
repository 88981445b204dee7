// Attempts to keep the create guard or the next command's survey from seeing
// what is there: directories closed to everybody, PID 1 without descriptors,
// files that make a directory look like another kind.
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class E2eBlindGuard : public testing::Test {
protected:
  E2eBlindGuard() { fs::create_directory(empty); }
  // In a directory in which none of the protected names exists yet.
  finished in_empty(const std::string& script) const {
    program p = w.exec(script);
    p.directory = empty;
    return run(p);
  }
  void expect_absent(const char* name) const { EXPECT_FALSE(fs::exists(empty / name)) << name; }

  workspace w;
  const fs::path empty = w.top() / "empty";
};

TEST_F(E2eBlindGuard, ClosingTheDirectoryAbove) {
  in_empty("mkdir .pi && cd .pi && chmod 0 .. && { mkdir extensions; echo x > settings.json; }; "
           "chmod 755 ..");
  expect_absent(".pi/extensions");
  expect_absent(".pi/settings.json");
  in_empty("git init -q; rm -rf .git/hooks; mkdir .git/hooks; cd .git/hooks; chmod 0 ..; "
           "echo x > post-commit; chmod 755 ..");
  expect_absent(".git/hooks/post-commit");
}

TEST_F(E2eBlindGuard, TakingThePidOneItsDescriptors) {
  const auto r =
      in_empty("python3 -c 'import resource; resource.prlimit(1, resource.RLIMIT_NOFILE, "
               "(1, 4096))' || echo refused; mkdir .pi; mkdir .pi/extensions");
  EXPECT_THAT(r.out, HasSubstr("refused"));
  expect_absent(".pi/extensions");
  EXPECT_EQ(in_empty("ulimit -n 100 && ulimit -n").out, "100\n"); // its own limits stay its own
}

TEST_F(E2eBlindGuard, LookingLikeAGitDirectory) {
  in_empty("mkdir -p .pi; touch HEAD .pi/HEAD");
  in_empty("echo x > .env; mkdir .vscode; mkdir .pi/extensions; echo x > .bashrc");
  for (const char* name : {".env", ".vscode", ".pi/extensions", ".bashrc"})
    expect_absent(name);
}

TEST_F(E2eBlindGuard, PlantingInADotGitBeforeItIsARepository) {
  in_empty("mkdir -p .git/hooks; echo x > .git/hooks/post-commit; "
           "printf '[core]\\n\\tfsmonitor = x\\n' > .git/config");
  expect_absent(".git/hooks/post-commit");
  EXPECT_EQ(read_file(empty / ".git/config"), "");
  in_empty("mkdir -p a/b/hooks; echo x > a/b/hooks/post-commit; mv a/b a/.git; mv a/.git .git");
  expect_absent(".git/hooks/post-commit");
  expect_absent("a/.git/hooks/post-commit");
}

TEST_F(E2eBlindGuard, ClosingADirectoryForTheNextCommand) {
  run(w.exec("chmod 0 .pi"));
  run(w.exec("chmod 755 .pi; echo planted > .pi/mcp.json; mkdir .pi/themes"));
  fs::permissions(w.project() / ".pi", fs::perms::owner_all);
  EXPECT_EQ(read_file(w.project() / ".pi/mcp.json"), "original .pi/mcp.json\n");
}

} // namespace
} // namespace piorch::test
