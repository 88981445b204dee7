// What a command leaves in the workspace so that the survey of the next one sees
// less than there is.
#include "sandbox/files.hpp"
#include "sandbox/policy.hpp"
#include "sandbox/protected_paths.hpp"
#include "sandbox/survey.hpp"

#include "config/limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

constexpr uid_t ordinary = 1234;

class SandboxSurvey : public ::testing::Test {
protected:
  SandboxSurvey() {
    char name[] = "/tmp/survey-XXXXXX";
    workspace_ = canonical(::mkdtemp(name)).value();
  }
  ~SandboxSurvey() override {
    for (const char* closed : {"/sub", "/.pi", "/.git"})
      ::chmod((workspace_ + closed).c_str(), 0755);
    [[maybe_unused]] const int rc = std::system(("rm -rf " + workspace_).c_str());
  }

  void directory(const std::string& name) { ::mkdir((workspace_ + "/" + name).c_str(), 0755); }
  void file(const std::string& name) { std::ofstream(workspace_ + "/" + name) << "x\n"; }
  void close(const std::string& name) { ::chmod((workspace_ + "/" + name).c_str(), 0); }

  policy_inputs inputs() const {
    policy_inputs in;
    in.workspace = workspace_;
    in.temp_dir = "/nowhere/tmp";
    in.agent_dir = "/nowhere/agent";
    in.libexec_dir = "/nowhere/libexec";
    in.program = "/nowhere/piorch";
    return in;
  }

  // Is `name` protected in the eyes of an ordinary user, who cannot look into
  // what is closed? Root could.
  bool protects(const std::string& name) {
    [[maybe_unused]] const int rc = std::system(
        ("chown -R " + std::to_string(ordinary) + " " + workspace_ + " 2>/dev/null").c_str());
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setresuid(ordinary, ordinary, ordinary) != 0)
        ::_exit(2);
      auto p = make_policy({}, inputs());
      if (!p || !survey_workspace(*p, inputs()))
        ::_exit(3);
      const bool found = std::any_of(p->rules.begin(), p->rules.end(), [&](const rule& r) {
        return r.what == access::protect && r.present && is_within(workspace_ + "/" + name, r.path);
      });
      ::_exit(found ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    return status == 0;
  }

  std::string workspace_;
};

TEST_F(SandboxSurvey, AClosedDirectoryIsProtectedAsAWhole) {
  directory("sub");
  file("sub/server.key");
  directory(".pi");
  file(".pi/settings.json");
  directory(".git");
  directory(".git/hooks");
  file(".git/hooks/pre-commit");
  EXPECT_FALSE(protects("sub/other"));
  for (const char* name : {"sub", ".pi", ".git"})
    close(name);
  EXPECT_TRUE(protects("sub/server.key"));
  EXPECT_TRUE(protects(".pi/settings.json"));
  EXPECT_TRUE(protects(".git/hooks/pre-commit"));
}

TEST_F(SandboxSurvey, LinksOnTheWayAreProtectedLikeTheirTargets) {
  directory("real");
  file("real/settings.json");
  ASSERT_EQ(::symlink("real", (workspace_ + "/.pi").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (workspace_ + "/.env").c_str()), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (workspace_ + "/.bashrc").c_str()), 0);
  EXPECT_TRUE(protects(".pi"));
  EXPECT_TRUE(protects("real/settings.json"));
  EXPECT_TRUE(protects(".env"));
  EXPECT_TRUE(protects(".bashrc"));
}

TEST_F(SandboxSurvey, WhatLinksInProtectedDirectoriesLeadToIsProtected) {
  for (const char* name :
       {".git", ".git/objects", ".git/refs", ".git/hooks", "scripts", "lib", "lib/deep", ".pi",
        ".pi/extensions", ".pi/extensions/more", "src", "src/ext"})
    directory(name);
  for (const char* name : {"scripts/hook.sh", "lib/deep/x", "src/foo.ts", "src/ext/index.ts",
                           "src/other.ts", "src/inner.ts"})
    file(name);
  const auto link = [&](const std::string& to, const std::string& name) {
    ASSERT_EQ(::symlink(to.c_str(), (workspace_ + "/" + name).c_str()), 0);
  };
  link("../../tools/hook.sh", ".git/hooks/pre-commit");
  link("scripts", "tools");
  link("../../lib/deep", ".git/hooks/lib");
  const std::string by_its_parent = "../../.." + workspace_.substr(4) + "/src/foo.ts";
  link(by_its_parent, ".pi/extensions/foo.ts"); // out of the workspace and back
  link("../../src/ext", ".pi/extensions/ext");
  link("../inner.ts", "src/ext/inner.ts");
  link("../../../" + std::string("src/gone.ts"), ".pi/extensions/more/gone.ts");
  link("../..", ".pi/extensions/all"); // the workspace itself cannot be protected
  for (const char* name :
       {"scripts/hook.sh", "tools", "lib/deep/x", "src/foo.ts", "src/ext/index.ts", "src/inner.ts"})
    EXPECT_TRUE(protects(name)) << name;
  EXPECT_FALSE(protects("src/other.ts"));
  auto p = make_policy({}, inputs());
  ASSERT_TRUE(p && survey_workspace(*p, inputs()));
  const auto rule_of = [&](const std::string& name) {
    return std::find_if(p->rules.begin(), p->rules.end(), [&](const rule& r) {
      return r.what == access::protect && r.path == workspace_ + "/" + name;
    });
  };
  ASSERT_NE(rule_of("src/gone.ts"), p->rules.end());
  EXPECT_FALSE(rule_of("src/gone.ts")->present) << "it must not appear";
  EXPECT_EQ(rule_of("scripts/hook.sh")->reason,
            "through it the host's Git runs programs (.git/hooks/pre-commit leads here)");
}

TEST_F(SandboxSurvey, ADirectoryOfHooksThatIsALink) {
  for (const char* name :
       {".git", ".git/objects", ".git/refs", "githooks", "other", "nested", "nested/.git",
        "nested/.git/objects", "nested/.git/refs", "nested/hooks"})
    directory(name);
  ASSERT_EQ(::symlink("../githooks", (workspace_ + "/.git/hooks").c_str()), 0);
  ASSERT_EQ(::symlink("../other", (workspace_ + "/githooks/x").c_str()), 0);
  ASSERT_EQ(::symlink("../hooks", (workspace_ + "/nested/.git/hooks").c_str()), 0);
  for (const char* name : {"githooks/pre-commit", "other/x", "nested/hooks/pre-commit"})
    EXPECT_TRUE(protects(name)) << name;
  EXPECT_FALSE(protects("nested/x"));
}

TEST_F(SandboxSurvey, ACommandThatMakesLinksDoesNotCloseTheSourcesToTheNext) {
  for (const char* name : {"src", "sub", "sub/secrets"})
    directory(name);
  ASSERT_EQ(::symlink("../../src", (workspace_ + "/sub/secrets/x").c_str()), 0);
  EXPECT_TRUE(protects("sub/secrets/x"));
  EXPECT_FALSE(protects("src/x"));
  for (const char* name : {"evil", "evil/objects", "other"}) // no repository yet
    directory(name);
  ASSERT_EQ(::symlink("../src", (workspace_ + "/evil/hooks").c_str()), 0);
  std::ofstream(workspace_ + "/evil/config") << "[core]\n\thooksPath = ../src\n";
  std::ofstream(workspace_ + "/other/.git") << "gitdir: ../evil\n";
  EXPECT_TRUE(protects("other/.git"));
  EXPECT_FALSE(protects("src/x"));
}

TEST_F(SandboxSurvey, ALotOfLinksInProtectedDirectoriesEnds) {
  for (const char* name : {".agents", ".agents/a"})
    directory(name);
  for (int i = 0; i < 5000; ++i)
    ASSERT_EQ(::symlink("..", (workspace_ + "/.agents/a/" + std::to_string(i)).c_str()), 0);
  EXPECT_TRUE(protects(".agents/a"));
}

TEST_F(SandboxSurvey, LinksInACircleEnd) {
  ASSERT_EQ(::symlink("b", (workspace_ + "/secrets").c_str()), 0);
  ASSERT_EQ(::symlink("secrets", (workspace_ + "/b").c_str()), 0);
  EXPECT_TRUE(protects("secrets"));
}

// All the names of the way are pinned by one rule.
TEST_F(SandboxSurvey, TheWayOfAGitFileIsOneRule) {
  directory("tree");
  std::ofstream(workspace_ + "/tree/.git") << "gitdir: ../a/b/c/d.git\n";
  auto p = make_policy({}, inputs());
  ASSERT_TRUE(p && survey_workspace(*p, inputs()));
  std::vector<std::string> pins;
  for (const rule& r : p->rules)
    if (r.what == access::pin && is_within(r.path, workspace_ + "/a"))
      pins.push_back(r.path);
  EXPECT_EQ(pins, std::vector<std::string>{workspace_ + "/a/b/c/d.git"});
}

TEST_F(SandboxSurvey, TheWayOfAGitFileMayComeBackByALinkElsewhere) {
  directory("tree");
  const std::string link = workspace_ + "-link";
  ASSERT_EQ(::symlink(workspace_.c_str(), link.c_str()), 0);
  std::ofstream(workspace_ + "/tree/.git") << "gitdir: " << link << "/gone/x.git\n";
  auto p = make_policy({}, inputs());
  ASSERT_TRUE(p && survey_workspace(*p, inputs()));
  ::unlink(link.c_str());
  EXPECT_TRUE(std::any_of(p->rules.begin(), p->rules.end(), [&](const rule& r) {
    return r.what == access::pin && r.path == workspace_ + "/gone/x.git";
  }));
}

TEST_F(SandboxSurvey, MoreWaysOfGitFilesThanCanBeWatchedAreRefused) {
  std::string deep;
  for (int i = 0; i < 64; ++i)
    deep += "/n";
  const auto refused = [&](const std::string& tree, const std::string& path) {
    directory(tree);
    std::ofstream(workspace_ + "/" + tree + "/.git") << "gitdir: " << workspace_ << path << '\n';
    auto p = make_policy({}, inputs());
    const auto surveyed = survey_workspace(*p, inputs());
    return surveyed ? "" : surveyed.failed().text;
  };
  EXPECT_EQ(refused("long", deep), "");
  EXPECT_NE(refused("long", deep + "/n").find("/long/.git has a path of"), std::string::npos);
  EXPECT_NE(refused("long", "/" + std::string(4096, 'n')).find("/long/.git has a path of"),
            std::string::npos);
  std::string endless = "/"; // in what it would cost, was each way listed
  for (int i = 0; i < 100000; ++i)
    endless += "a/";
  for (int i = 0; i < 100000; ++i)
    endless += "../x/";
  EXPECT_NE(refused("long", endless).find("/long/.git has a path of"), std::string::npos);
  EXPECT_EQ(refused("long", deep), "");
  for (int i = 1; i < 128; ++i) {
    directory("d" + std::to_string(i));
    std::ofstream(workspace_ + "/d" + std::to_string(i) + "/.git")
        << "gitdir: " << workspace_ << "/n" << i << deep.substr(2) << '\n';
  }
  EXPECT_EQ(refused("same", deep), "");
  EXPECT_NE(refused("more", "/one").find("/.git is one .git file too many"), std::string::npos);
}

TEST_F(SandboxSurvey, MoreSecretsThanCanBeProtectedAreRefused) {
  for (std::size_t i = 0; i <= limits::protected_secrets; ++i)
    file(std::to_string(i) + ".pem");
  auto p = make_policy({}, inputs());
  ASSERT_TRUE(p);
  const auto surveyed = survey_workspace(*p, inputs());
  ASSERT_FALSE(surveyed);
  EXPECT_EQ(surveyed.failed().code, failure::usage);
  EXPECT_NE(surveyed.failed().text.find("secrets"), std::string::npos);
}

} // namespace
} // namespace piorch::sandbox
