#include "sandbox/guard/filter.hpp"
#include "sandbox/guard/rules.hpp"

#include "ipc/unique_fd.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace piorch::sandbox::guard;
namespace fs = std::filesystem;

namespace {

class SandboxGuardRules : public ::testing::Test {
protected:
  SandboxGuardRules() {
    char name[] = "/tmp/piorch-rules-XXXXXX";
    base_ = fs::canonical(mkdtemp(name));
    root_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~SandboxGuardRules() override { fs::remove_all(base_); }

  rules make(std::vector<std::pair<const char*, rule_kind>> list) {
    std::vector<rule> out;
    for (const auto& [path, kind] : list)
      out.push_back({kind, (base_ / path).string(), base_bytes_});
    return rules(root_.get(), out);
  }
  hit check(const rules& r, const fs::path& directory, const char* name) {
    const piorch::ipc::unique_fd fd(::open((base_ / directory).c_str(), O_PATH | O_DIRECTORY));
    EXPECT_TRUE(fd) << directory;
    return r.check(fd.get(), name);
  }

  fs::path base_;
  std::size_t base_bytes_ = 0;
  piorch::ipc::unique_fd root_;
};

} // namespace

TEST_F(SandboxGuardRules, GuardsAnAbsentNameInEverySpelling) {
  const auto r = make({{".env", rule_kind::absent}});
  fs::create_directory(base_ / "d");
  EXPECT_EQ(check(r, ".", ".env"), hit::guarded);
  EXPECT_EQ(check(r, ".", ".ENV"), hit::guarded);
  EXPECT_EQ(check(r, "d/..", ".eNv"), hit::guarded);
  EXPECT_EQ(check(r, ".", ".env2"), hit::none);
  EXPECT_EQ(check(r, "d", ".env"), hit::none);
}

TEST_F(SandboxGuardRules, AllowsEarlierComponentsByMkdirOnly) {
  const auto r = make({{".pi/extensions/x", rule_kind::absent}, {".git", rule_kind::directory}});
  EXPECT_EQ(check(r, ".", ".pi"), hit::ancestor);
  EXPECT_EQ(check(r, ".", ".git"), hit::ancestor);
  fs::create_directory(base_ / ".pi");
  EXPECT_EQ(check(r, ".pi", "extensions"), hit::ancestor);
  EXPECT_EQ(check(r, ".pi", "x"), hit::none);
  fs::create_directory(base_ / ".pi/extensions");
  EXPECT_EQ(check(r, ".pi/extensions", "x"), hit::guarded);
}

TEST_F(SandboxGuardRules, FollowsLinksAndKeepsGuardingWhatTheyLedTo) {
  fs::create_directories(base_ / "real/deep");
  fs::create_directory_symlink("real/deep", base_ / ".pi");
  const auto r = make({{".pi/settings.json", rule_kind::absent}});
  EXPECT_EQ(check(r, "real/deep", "settings.json"), hit::guarded);
  EXPECT_EQ(check(r, "real", "deep"), hit::ancestor);
  EXPECT_EQ(check(r, ".", "real"), hit::ancestor);
  fs::remove(base_ / ".pi"); // unlink is not notified
  EXPECT_EQ(check(r, "real/deep", "settings.json"), hit::guarded);
  fs::create_directory(base_ / ".pi");
  EXPECT_EQ(check(r, ".pi", "settings.json"), hit::guarded);
}

TEST_F(SandboxGuardRules, GuardsWhatADanglingLinkLeadsTo) {
  fs::create_symlink("elsewhere/file", base_ / ".env");
  const auto r = make({{".env", rule_kind::absent}});
  EXPECT_EQ(check(r, ".", "elsewhere"), hit::ancestor);
  fs::create_directory(base_ / "elsewhere");
  EXPECT_EQ(check(r, "elsewhere", "file"), hit::guarded);
}

TEST_F(SandboxGuardRules, KnowsNoNamesOfABase) {
  base_bytes_ = base_.string().size();
  const auto r = make({{"a/b", rule_kind::absent}});
  EXPECT_FALSE(r.mentions(base_.filename().string()));
  EXPECT_TRUE(r.mentions("a"));
  EXPECT_EQ(check(r, ".", "a"), hit::ancestor);
  fs::create_directory(base_ / "real");
  fs::create_directory_symlink(base_ / "real", base_ / "a");
  const auto linked = make({{"a/b", rule_kind::absent}});
  EXPECT_EQ(check(linked, "real", "b"), hit::guarded);
}

TEST_F(SandboxGuardRules, SurvivesLoopsOfLinks) {
  fs::create_symlink("b", base_ / "a");
  fs::create_symlink("a", base_ / "b");
  const auto r = make({{"a/x", rule_kind::absent}});
  EXPECT_EQ(check(r, ".", "a"), hit::ancestor);
}

TEST(SandboxGuardNames, OddOnesAreKnown) {
  for (const char* name : {"config.", "config ", "GIT~1", "config::$DATA", "\xc2\xadgit"})
    EXPECT_TRUE(is_odd(name)) << name;
  for (const char* name : {".git", "config", "a-b_c.d"})
    EXPECT_FALSE(is_odd(name)) << name;
}

// The kernel accepts the program and every path through it ends in an answer.
TEST(SandboxGuardFilter, IsAWholeProgram) {
  const auto code = creating_calls_filter();
  ASSERT_LT(code.size(), 256u) << "jumps are 8 bits wide";
  for (std::size_t i = 0; i < code.size(); ++i)
    if (BPF_CLASS(code[i].code) == BPF_JMP) {
      ASSERT_LT(i + 1 + code[i].jt, code.size());
      ASSERT_LT(i + 1 + code[i].jf, code.size());
    }
  EXPECT_EQ(code.back().code, BPF_RET | BPF_K);
}
