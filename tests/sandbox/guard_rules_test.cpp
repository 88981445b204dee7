#include "sandbox/guard/filter.hpp"
#include "sandbox/guard/rules.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/seccomp.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

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

TEST_F(SandboxGuardRules, APlainPlaceIsMadeByMkdirAndKeepsItsName) {
  const auto r = make({{"runs", rule_kind::plain}});
  EXPECT_EQ(check(r, ".", "runs"), hit::ancestor);
  fs::create_directories(base_ / "runs/a");
  EXPECT_EQ(check(r, "runs", "a"), hit::none);
  EXPECT_TRUE(r.is_plain((base_ / "runs").string()));
  EXPECT_TRUE(r.is_plain((base_ / "RUNS/a/b").string()));
  EXPECT_FALSE(r.is_plain(base_.string()));
  EXPECT_FALSE(r.is_plain((base_ / "runs2").string()));
  fs::create_directory_symlink("runs", base_ / "way");
  EXPECT_TRUE(make({{"way", rule_kind::plain}}).is_plain((base_ / "runs").string()));
  base_bytes_ = (base_ / "runs").string().size(); // the root of a writable tree
  EXPECT_TRUE(make({{"runs", rule_kind::plain}}).is_plain((base_ / "runs/a").string()));
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

namespace {

// What the kernel would answer; the few instructions that seccomp filters are made of.
std::uint32_t answer(const std::vector<sock_filter>& code, const seccomp_data& call) {
  std::uint32_t a = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const sock_filter& i = code[at];
    const auto jump = [&](bool yes) { at += yes ? i.jt : i.jf; };
    switch (i.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&a, reinterpret_cast<const char*>(&call) + i.k, sizeof a);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        a &= i.k;
        break;
      case BPF_JMP | BPF_JA:
        at += i.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(a == i.k);
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump(a > i.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(a >= i.k);
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jump((a & i.k) != 0);
        break;
      case BPF_RET | BPF_K:
        return i.k;
      default:
        ADD_FAILURE() << "instruction " << i.code;
        return 0;
    }
  }
  ADD_FAILURE() << "no answer";
  return 0;
}

} // namespace

// One program says what the two would say together: the stricter answer of the first, else the
// second's.
TEST(SandboxGuardFilter, JoinedToTheOtherOneItSaysWhatBothWouldSay) {
  auto first = piorch::sandbox::make_filter();
  ASSERT_TRUE(first);
  const auto second = creating_calls_filter();
  const auto both = joined_filter({static_cast<unsigned short>(first->size()), first->data()});
  ASSERT_EQ(both.size(), first->size() + second.size());
  int allowed = 0, refused = 0, notified = 0;
  for (const std::uint32_t arch : {second[1].k, std::uint32_t{AUDIT_ARCH_I386}})
    for (int number : {-1, 0x40000000, 0x40000002, 1000})
      EXPECT_EQ(answer(both, {number, arch, 0, {}}), answer(*first, {number, arch, 0, {}}));
  for (int number = 0; number < 480; ++number)
    for (const std::uint64_t x :
         {0u, 1u, 2u, 0x241u, 04000u, 0200000u, 0x5412u, 0x10000000u, 1u << 31})
      for (const std::uint64_t y : {0u, 2u, 0101u, 06000u, 0x50009401u, 010000000u}) {
        const seccomp_data call{number, second[1].k, 0, {x, y, x, y, x, y}};
        const auto one = answer(*first, call);
        const auto expected = one == SECCOMP_RET_ALLOW ? answer(second, call) : one;
        ASSERT_EQ(answer(both, call), expected) << number << " " << x << " " << y;
        (expected == SECCOMP_RET_ALLOW        ? allowed
         : expected == SECCOMP_RET_USER_NOTIF ? notified
                                              : refused)++;
      }
  EXPECT_GT(allowed, 1000);
  EXPECT_GT(refused, 100);
  EXPECT_GT(notified, 100);
}

TEST(SandboxGuardFilter, TooLongTogetherIsNoFilter) {
  std::vector<sock_filter> first(BPF_MAXINSNS, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  EXPECT_TRUE(joined_filter({static_cast<unsigned short>(first.size()), first.data()}).empty());
}
