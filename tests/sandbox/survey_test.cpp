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

TEST_F(SandboxSurvey, LinksInACircleEnd) {
  ASSERT_EQ(::symlink("b", (workspace_ + "/secrets").c_str()), 0);
  ASSERT_EQ(::symlink("secrets", (workspace_ + "/b").c_str()), 0);
  EXPECT_TRUE(protects("secrets"));
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
