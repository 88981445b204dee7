// Nothing in a project can change the trusted configuration, wherever the user
// keeps it.
#include "sandbox/files.hpp"
#include "sandbox/policy.hpp"
#include "sandbox/survey.hpp"
#include "tests/config/temp_dir.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

using testing::HasSubstr;

class SandboxTrustedFiles : public testing::Test {
protected:
  SandboxTrustedFiles() {
    in.homes = {base.path() / "home"};
    in.agent_dir = join(in.homes[0], ".pi/agent");
    in.trusted_files = {join(in.agent_dir, "extensions/pi-sandbox/config.json"),
                        join(in.agent_dir, "pi-sandbox.json")};
    in.temp_dir = "/tmp/elsewhere";
    std::filesystem::create_directories(parent_of(in.trusted_files[0]));
    std::filesystem::create_directories(in.homes[0] + "/dotfiles/pi");
  }

  policy surveyed(const std::string& workspace) {
    in.workspace = workspace;
    auto made = make_policy({}, in);
    EXPECT_TRUE(made) << made.failed().text;
    if (!made)
      return {};
    EXPECT_TRUE(survey_workspace(*made, in));
    return *made;
  }

  static const rule* find(const policy& p, const std::string& path) {
    for (const rule& r : p.rules)
      if (r.what == access::protect && r.path == path)
        return &r;
    return nullptr;
  }

  config::temp_dir base;
  policy_inputs in;
};

TEST_F(SandboxTrustedFiles, ProtectedWhereALinkLeads) {
  const std::string dotfiles = in.homes[0] + "/dotfiles";
  const std::string real = dotfiles + "/pi/config.json";
  base.write("home/dotfiles/pi/config.json", "{}");
  std::filesystem::create_symlink(real, in.trusted_files[0]);
  const policy p = surveyed(dotfiles);
  const rule* found = find(p, real);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->present);
  const bool pinned = std::any_of(p.rules.begin(), p.rules.end(), [&](const rule& r) {
    return r.what == access::pin && r.path == dotfiles + "/pi";
  });
  EXPECT_TRUE(pinned) << "or its directory could be renamed and the file made anew";
}

TEST_F(SandboxTrustedFiles, ProtectedWhenTheWorkspaceHoldsThem) {
  for (const char* elsewhere : {"", "/tmp/elsewhere/agent"}) {
    const std::string agent = join(in.homes[0], ".pi/agent");
    if (*elsewhere)
      in.agent_dir = elsewhere; // as PI_CODING_AGENT_DIR would have it
    const policy p = surveyed(agent);
    ASSERT_NE(find(p, in.trusted_files[1]), nullptr);
    EXPECT_FALSE(find(p, in.trusted_files[1])->present);
  }
  // pi-sandbox is no part of an agent directory now: only its file is protected.
  base.write("home/.pi/agent/extensions/pi-sandbox/config.json", "{}");
  EXPECT_NE(find(surveyed(parent_of(in.trusted_files[0])), in.trusted_files[0]), nullptr);
}

TEST_F(SandboxTrustedFiles, WhatPiLoadsIsNoWorkspace) {
  in.workspace = parent_of(in.trusted_files[0]);
  const auto refused = make_policy({}, in);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failed().code, failure::usage);
  EXPECT_THAT(refused.failed().text, HasSubstr("Pi's own"));
}

} // namespace
} // namespace piorch::sandbox
