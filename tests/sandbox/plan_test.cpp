// From a policy to bubblewrap's arguments and to what piorch-init mounts: by value.
#include "sandbox/guard_rules.hpp"
#include "sandbox/plan.hpp"

#include "sandbox/bwrap_args.hpp"
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ostream>
#include <sys/stat.h>

namespace piorch::sandbox {

// For comparing and printing.
using kind = mount_op::kind_type;
bool operator==(const mount_op& a, const mount_op& b) {
  return a.kind == b.kind && a.path == b.path && a.source == b.source &&
         a.size_limit == b.size_limit && a.mode == b.mode;
}
bool operator==(const inner_mount& a, const inner_mount& b) {
  return a.tree == b.tree && a.path == b.path && a.read_only == b.read_only;
}
std::ostream& operator<<(std::ostream& o, const mount_op& m) {
  return o << int(m.kind) << " " << m.path << " < " << m.source;
}
std::ostream& operator<<(std::ostream& o, const inner_mount& m) {
  return o << m.tree << ":" << m.path << (m.read_only ? " ro" : " pin");
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

policy example() {
  policy p;
  p.workspace = "/home/u/w";
  p.rules = {{access::hide, "/home/u", {}, "home", true},
             {access::read, "/home/u/.gitconfig", "/dot/gitconfig", "git", true},
             {access::read, "/home/u/gone", {}, "absent", false},
             {access::write, "/home/u/w", {}, "workspace", true},
             {access::write, "/home/u/w/sub/git", {}, "nested tree", true},
             {access::pin, "/home/u/w/a", {}, "holds", true},
             {access::protect, "/home/u/w/a/.env", {}, "secret", true},
             {access::protect, "/home/u/w/.bashrc", {}, "absent", false},
             {access::protect, "/home/u/w/sub/git/hooks", {}, "hooks", true}};
  return p;
}

TEST(SandboxPlan, OrderedAndHomesAreClosedLast) {
  const plan p = make_plan(example(), "/tmp/scratch");
  EXPECT_THAT(
      p.outer,
      ElementsAre(mount_op{kind::ro_bind, "/"}, mount_op{kind::proc, "/proc"},
                  mount_op{kind::dev, "/dev"},
                  mount_op{kind::tmpfs, "/dev/shm", {}, std::size_t{1} << 30, 01777},
                  mount_op{kind::remount_ro, "/dev"}, mount_op{kind::tmpfs, "/home/u"},
                  mount_op{kind::ro_bind, "/home/u/.gitconfig", "/dot/gitconfig"},
                  mount_op{kind::bind, "/home/u/w"}, mount_op{kind::bind, "/home/u/w/sub/git"},
                  mount_op{kind::bind, "/tmp/scratch"}, mount_op{kind::remount_ro, "/home/u"}));
  EXPECT_THAT(p.trees, ElementsAre("/home/u/w", "/home/u/w/sub/git"));
}

TEST(SandboxPlan, InnerMountsBelongToTheInnermostTree) {
  EXPECT_THAT(make_plan(example(), "").inner,
              ElementsAre(inner_mount{0, "a", false}, inner_mount{0, "a/.env", true},
                          inner_mount{1, "hooks", true}));
}

// No mount in the way of renames where the guard keeps the directory; the others stay.
TEST(SandboxPlan, DirectoriesAboveAProtectedPathAreLeftToTheGuard) {
  policy p = example();
  for (rule& r : p.rules)
    r.by_guard = r.path == "/home/u/w/a";
  p.rules.push_back({access::pin, "/home/u/w/.git", {}, "the repository", true});
  const std::vector<std::string> trees{"/home/u/w", "/home/u/w/sub/git"};
  EXPECT_THAT(plan_inner(p, trees, true),
              ElementsAre(inner_mount{0, "a/.env", true}, inner_mount{1, "hooks", true},
                          inner_mount{0, ".git", false}));
  EXPECT_THAT(plan_inner(p, trees, false), testing::Contains(inner_mount{0, "a", false}));
}

std::vector<std::string> listed(const policy& p) {
  std::vector<std::string> out;
  for (const guarded_name& g : guarded_names(p, {p.workspace}))
    out.push_back((g.kind == init::guard_kind::absent      ? "name "
                   : g.kind == init::guard_kind::directory ? "directory "
                   : g.kind == init::guard_kind::plain     ? "plain "
                                                           : "kept ") +
                  g.path.substr(g.tree_bytes));
  return out;
}

TEST(SandboxGuardedNames, WhatIsInGitDirectoriesIsNotListedButWhatLeadsToThemIs) {
  policy p;
  p.workspace = "/w";
  p.rules = {{access::write, "/w", {}, "", true},
             {access::pin, "/w/a", {}, "", true, false, true},
             {access::protect, "/w/a/.env", {}, "", true},
             {access::pin, "/w/lib", {}, "", true, false, true},
             {access::pin, "/w/lib/.git", {}, "", true},
             {access::protect, "/w/lib/.git/hooks", {}, "", true, true},
             {access::protect, "/w/.git", {}, "", false},
             {access::protect, "/w/.pi/settings.json", {}, "", false}};
  EXPECT_THAT(listed(p), ElementsAre("plain /.pi-subagents", "plain /.pi/subagents", "name /a/.env",
                                     "name /.pi/settings.json", "directory /lib",
                                     "directory /lib/.git", "directory /.git"));
  p.rules.push_back({access::protect, "/w/.git", {}, "a pointer", true});
  EXPECT_THAT(listed(p), testing::Contains("name /.git"));
}

// Not by what lies beside it: a file called HEAD can be made by any command.
TEST(SandboxGuardedNames, NothingInTheWorkspaceTakesANameOffTheList) {
  test::temp_dir dir;
  policy p;
  p.workspace = dir.path();
  std::ofstream(p.workspace + "/HEAD") << "ref: refs/heads/main\n";
  p.rules = {{access::write, p.workspace, {}, "", true},
             {access::protect, p.workspace + "/.env", {}, "", false}};
  EXPECT_THAT(listed(p), testing::Contains("name /.env"));
}

// The host follows links in the directories of a worker's run.
TEST(SandboxGuardedNames, ADirectoryThatTheHostWritesTooStaysPlain) {
  policy p;
  p.workspace = "/w";
  p.rules = {{access::write, "/w", {}, "", true},
             {access::write, "/run/mine", {}, "", true},
             {access::write, "/other", {}, "", true}};
  p.rules[1].plain = true;
  std::vector<std::string> plain;
  for (const guarded_name& g : guarded_names(p, {"/w", "/run/mine", "/other"}))
    if (g.kind == init::guard_kind::plain)
      plain.push_back(g.path);
  EXPECT_THAT(plain, ElementsAre("/w/.pi-subagents", "/w/.pi/subagents", "/run/mine"));
}

TEST(SandboxPlan, WithoutAPrivateDirectoryNothingElseIsWritable) {
  for (const mount_op& op : make_plan(example(), "").outer)
    EXPECT_TRUE(op.kind != kind::bind || op.path.compare(0, 9, "/home/u/w") == 0) << op.path;
}

TEST(SandboxBwrapArgs, EverySourceIsADescriptor) {
  test::temp_dir dir;
  const std::string base = std::filesystem::canonical(dir.path());
  std::filesystem::create_directory(base + "/w");
  plan p;
  p.outer = {{kind::ro_bind, "/"},
             {kind::tmpfs, "/h", {}, 0, 0755},
             {kind::tmpfs, "/s", {}, 4096, 01777},
             {kind::ro_bind, "/seen", base},
             {kind::bind, base + "/w"},
             {kind::remount_ro, "/h"}};
  const auto made = make_bwrap_arguments(p, 7);
  ASSERT_TRUE(made) << made.failed().text;
  const auto& o = made->options;
  const auto first = std::find(o.begin(), o.end(), "--ro-bind");
  ASSERT_NE(first, o.end());
  EXPECT_THAT(std::vector<std::string>(first, o.end()),
              ElementsAre("--ro-bind", "/", "/", "--tmpfs", "/h", "--size", "4096", "--perms",
                          "01777", "--tmpfs", "/s", "--ro-bind-fd", "7", "/seen", "--bind-fd", "8",
                          base + "/w", "--remount-ro", "/h"));
  ASSERT_EQ(made->descriptors.size(), 2u);
  struct stat a {
  }, b{};
  ASSERT_EQ(::fstat(made->descriptors[1].get(), &a), 0);
  ASSERT_EQ(::stat((base + "/w").c_str(), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
  for (const char* word : {"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net",
                           "--unshare-uts", "--unshare-cgroup", "--die-with-parent"})
    EXPECT_THAT(o, testing::Contains(word));
}

TEST(SandboxBwrapArgs, ASourceThatIsALinkOrGoneIsRefused) {
  test::temp_dir dir;
  const std::string base = std::filesystem::canonical(dir.path());
  std::filesystem::create_directory_symlink("/etc", base + "/link");
  for (const char* name : {"/link", "/gone", "/link/ssl"}) {
    plan p;
    p.outer = {{kind::bind, base + name}};
    const auto made = make_bwrap_arguments(p, 7);
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.failed().text, HasSubstr(base + name));
  }
}

TEST(SandboxBwrapArgs, TheTextSurvivesAShell) {
  policy p = example();
  p.workspace = "/w/it's $(a) \"dir\"\n";
  p.rules = {{access::write, p.workspace, {}, "workspace", true}};
  const std::string text = bwrap_text(make_plan(p, ""), p.workspace);
  test::program sh{{"bash", "-c", "bwrap() { for a; do printf '[%s]' \"$a\"; done; }\n" + text}};
  const auto r = test::run(sh);
  EXPECT_THAT(r.out, HasSubstr("[--bind][" + p.workspace + "][" + p.workspace + "]")) << r.err;
  EXPECT_THAT(r.out, HasSubstr("[--chdir][" + p.workspace + "]"));
}

} // namespace
} // namespace piorch::sandbox
