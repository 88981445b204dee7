#include "sandbox/protected_paths.hpp"

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

class SandboxProtectedPaths : public testing::Test {
protected:
  const protected_path* fixed(const std::string& name) {
    found = protect_fixed_names(root.path());
    const auto at = std::find_if(found.begin(), found.end(),
                                 [&](const protected_path& p) { return p.path == name; });
    return at == found.end() ? nullptr : &*at;
  }
  std::vector<std::string> secrets() const {
    std::vector<std::string> out;
    for (const protected_path& p : walk_workspace(root.path()).secrets) {
      EXPECT_TRUE(p.present);
      EXPECT_NE(p.reason, "");
      out.push_back(p.path);
    }
    return out;
  }

  test::temp_dir root;
  std::vector<protected_path> found;
};

TEST_F(SandboxProtectedPaths, EveryNameOfTheContractExistingOrNot) {
  for (const char* name : {".pi/settings.json",
                           ".pi/sandbox.json",
                           ".pi/pi-auto-review.json",
                           ".pi/extensions",
                           ".pi/mcp.json",
                           ".pi/skills",
                           ".pi/prompts",
                           ".pi/commands",
                           ".pi/themes",
                           ".pi/agents",
                           ".pi/chains",
                           ".pi/SYSTEM.md",
                           ".pi/APPEND_SYSTEM.md",
                           ".pi/npm",
                           ".pi/git",
                           ".pi/subagents/schedules",
                           ".pi/subagents/project-panes",
                           ".pi-subagents/project-panes",
                           ".pi-subagents/schedules",
                           ".agents",
                           ".bashrc",
                           ".bash_profile",
                           ".profile",
                           ".zshrc",
                           ".zprofile",
                           ".gitconfig",
                           ".gitmodules",
                           ".ripgreprc",
                           ".mcp.json",
                           ".vscode",
                           ".idea",
                           ".claude/commands",
                           ".claude/agents",
                           ".env",
                           ".env.local",
                           ".env.development",
                           ".env.development.local",
                           ".env.test",
                           ".env.test.local",
                           ".env.production",
                           ".env.production.local",
                           ".env.staging",
                           ".env.staging.local",
                           ".env.ci",
                           "secrets",
                           ".secrets"}) {
    const protected_path* p = fixed(name);
    ASSERT_NE(p, nullptr) << name;
    EXPECT_FALSE(p->present) << name;
    EXPECT_NE(p->reason, "");
    write_file(root / name, "");
    p = fixed(name);
    ASSERT_NE(p, nullptr) << name;
    EXPECT_TRUE(p->present) << name;
  }
}

TEST_F(SandboxProtectedPaths, SecretNames) {
  for (const char* name :
       {".env", ".env.local", ".env.anything", ".envrc", ".env-old", ".environment", "server.pem",
        "a.key", "b.p12", "c.pfx", ".env.example.local"})
    EXPECT_TRUE(is_secret_name(name, false)) << name;
  for (const char* name :
       {".env.example", ".env.sample", ".env.template", ".env.dist", "env", "a.env", ".pem", ".key",
        "key", "pem", "monkey", "secrets", "a.pem.txt", "a.PEM.md", ""})
    EXPECT_FALSE(is_secret_name(name, false)) << name;
  EXPECT_TRUE(is_secret_name("secrets", true));
  EXPECT_TRUE(is_secret_name(".secrets", true));
  EXPECT_FALSE(is_secret_name(".env", true)) << "a virtual environment of Python";
}

TEST_F(SandboxProtectedPaths, TheWalkLooksFourLevelsDeep) {
  write_file(root / "a/.env", "");
  write_file(root / "a/b/.env", "");
  write_file(root / "a/b/c/.env", "");
  write_file(root / "a/b/c/d/.env", "");
  EXPECT_THAT(secrets(), UnorderedElementsAre("a/.env", "a/b/.env", "a/b/c/.env"));
}

TEST_F(SandboxProtectedPaths, TheWalkSkipsWhatIsGenerated) {
  for (const char* name : {".git", "node_modules", "dist", "build", "coverage", ".next", ".turbo",
                           ".cache", "target", "vendor"})
    write_file(root.path() / "app" / name / "x.pem", "");
  write_file(root / "builds/x.pem", "");
  EXPECT_THAT(secrets(), ElementsAre("builds/x.pem"));
}

TEST_F(SandboxProtectedPaths, TheWalkDoesNotEnterLinks) {
  write_file(root / "real/x.pem", "");
  fs::create_directory_symlink("real", root / "link");
  fs::create_directory_symlink(".", root / "loop");
  EXPECT_THAT(secrets(), ElementsAre("real/x.pem"));
}

TEST_F(SandboxProtectedPaths, WhatALinkLeadsToIsProtectedToo) {
  write_file(root / "shared/env", "");
  fs::create_symlink("shared/env", root / ".env");
  const protected_path* p = fixed("shared/env");
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(p->present);
}

TEST_F(SandboxProtectedPaths, ALinkThatLeadsOutNamesNothingOutside) {
  test::temp_dir outside;
  write_file(outside / "file", "");
  fs::create_symlink(outside / "file", root / ".env");
  fs::create_symlink("/", root / "secrets");
  fs::create_symlink("nowhere", root / ".bashrc");
  fs::create_symlink(".bashrc", root / ".profile");
  for (const protected_path& p : protect_fixed_names(root.path())) {
    EXPECT_NE(p.path, "");
    EXPECT_NE(p.path.front(), '/');
    EXPECT_EQ(p.path.find(".."), std::string::npos);
  }
}

TEST_F(SandboxProtectedPaths, NestedRepositoriesAreFound) {
  fs::create_directories(root / ".git");
  fs::create_directories(root / "a/b/.git");
  write_file(root / "c/.git", "gitdir: x");
  EXPECT_THAT(walk_workspace(root.path()).repositories, UnorderedElementsAre("a/b", "c"));
}

TEST_F(SandboxProtectedPaths, AWorkspaceThatIsGoneHasNothing) {
  EXPECT_THAT(walk_workspace(root / "gone").secrets, IsEmpty());
}

TEST_F(SandboxProtectedPaths, NamesAreBytes) {
  write_file(root.path() / "\xff\n" / ".env", "");
  EXPECT_THAT(secrets(), ElementsAre("\xff\n/.env"));
}

} // namespace
} // namespace piorch::sandbox
