// What a sandbox may read and write, with a reason for every entry.
#include "sandbox/policy.hpp"

#include "sandbox/files.hpp"
#include "sandbox/plan.hpp"
#include "sandbox/scratch.hpp"
#include "sandbox/survey.hpp"
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;
using test::write_file;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SandboxPolicy : public testing::Test {
protected:
  SandboxPolicy() {
    in.homes = {at("home")};
    in.temp_dir = at("tmp");
    in.agent_dir = at("home/.pi/agent");
    in.libexec_dir = at("home/.local/libexec/piorch");
    in.program = at("home/.local/bin/piorch");
    in.workspace = at("home/work");
    fs::create_directories(in.workspace);
    fs::create_directories(in.temp_dir);
    fs::create_directories(in.libexec_dir);
    fs::create_directories(in.agent_dir + "/extensions");
  }
  std::string at(const std::string& name) const { return fs::canonical(base.path()) / name; }

  policy make() {
    auto made = make_policy(settings, in);
    EXPECT_TRUE(made) << made.failed().text;
    if (!made)
      return {};
    EXPECT_TRUE(survey_workspace(*made, in));
    for (const rule& r : made->rules)
      EXPECT_NE(r.reason, "") << r.path;
    return *made;
  }
  static std::vector<std::string> paths(const policy& p, access what, bool present = true) {
    std::vector<std::string> out;
    for (const rule& r : p.rules)
      if (r.what == what && r.present == present && r.path != scratch_parent("/tmp"))
        out.push_back(r.path); // what is in /tmp now is no matter of a test
    return out;
  }
  std::string refusal(const std::string& workspace) {
    in.workspace = workspace;
    const auto made = make_policy(settings, in);
    return made ? "accepted" : made.failed().text;
  }

  test::temp_dir base;
  config::settings settings;
  policy_inputs in;
};

// The project is the directory that a Pi with another agent directory keeps everything in.
TEST_F(SandboxPolicy, PisOwnSettingsInTheWorkspaceAreProtected) {
  in.agent_dir = at("home/work/agent");
  const std::vector<std::string> names{
      "settings.json", "permissions.json", "sandbox.json", "pi-sandbox.json", "logs", "extensions"};
  const auto absent = paths(make(), access::protect, false);
  for (const auto& name : names)
    EXPECT_THAT(absent, Contains(in.agent_dir + "/" + name));
  for (const auto& name : names)
    write_file(in.agent_dir + "/" + name, "");
  const auto present = paths(make(), access::protect);
  for (const auto& name : names)
    EXPECT_THAT(present, Contains(in.agent_dir + "/" + name));
}

TEST_F(SandboxPolicy, PisAndOurOwnDirectoriesAreHiddenWhereverTheyAre) {
  in.agent_dir = at("pi");
  in.state_dir = at("state");
  for (const std::string& path : {in.agent_dir, in.state_dir})
    fs::create_directories(path);
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home"), at("pi"), at("state")));
  in.extras.own = {{in.agent_dir, "agent", "a worker's own"}};
  in.additional_read = {in.state_dir};
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home"))) << "own, and asked for";
  in.agent_dir = "/";
  EXPECT_THAT(refusal(in.workspace), HasSubstr("PI_CODING_AGENT_DIR"));
}

TEST_F(SandboxPolicy, TheHomeIsHiddenAndTheWorkspaceIsWritable) {
  write_file(at("home/.gitconfig"), "");
  write_file(at("home/.config/git/config"), "");
  const policy p = make();
  EXPECT_THAT(paths(p, access::hide), ElementsAre(at("home")));
  EXPECT_THAT(paths(p, access::write), ElementsAre(at("home/work")));
  EXPECT_THAT(paths(p, access::read),
              ElementsAre(at("home/.gitconfig"), at("home/.config/git/config"), in.libexec_dir));
  EXPECT_EQ(p.rules.front().what, access::hide) << "what is shown comes after what is hidden";
}

// Everybody's but the sandbox's own, which is bound there afterwards.
TEST_F(SandboxPolicy, ThePrivateDirectoriesOfAllSandboxesAreHidden) {
  const std::string parent = scratch_parent(in.temp_dir);
  EXPECT_THAT(paths(make(), access::hide, false), ElementsAre(parent)) << "every start makes it";
  fs::create_directories(parent + "/mine");
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home"), parent));
  const plan walls = make_plan(make(), parent + "/mine");
  const auto find = [&](mount_op::kind_type kind, const std::string& path) {
    return std::find_if(walls.outer.begin(), walls.outer.end(),
                        [&](const mount_op& op) { return op.kind == kind && op.path == path; });
  };
  using kind = mount_op::kind_type;
  EXPECT_LT(find(kind::tmpfs, parent), find(kind::bind, parent + "/mine"));
  EXPECT_LT(find(kind::bind, parent + "/mine"), find(kind::remount_ro, parent));
  EXPECT_NE(find(kind::remount_ro, parent), walls.outer.end());
  EXPECT_THAT(refusal(parent), HasSubstr("private directories of sandboxes"));
}

TEST_F(SandboxPolicy, NothingThatIsShownShowsThePrivateDirectories) {
  in.temp_dir = at("home/tmp");
  const std::string parent = scratch_parent(in.temp_dir);
  fs::create_directories(parent + "/work");
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home"))) << "with the home";
  fs::create_directory_symlink(in.temp_dir, at("home/link"));
  settings.filesystem.additional_allow_read = {at("home/tmp"), at("home/link")};
  const auto seen = scratch_parent(at("home/link"));
  policy p = make();
  EXPECT_THAT(paths(p, access::hide), testing::UnorderedElementsAre(at("home"), parent, seen));
  const auto place = [&p](const std::string& path) {
    return std::find_if(p.rules.begin(), p.rules.end(),
                        [&](const rule& r) { return r.path == path; });
  };
  EXPECT_LT(place(at("home/tmp")), place(parent));
  EXPECT_LT(place(at("home/link")), place(seen));
  in.additional_read = {at("home")};
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(parent)) << "the home is asked for";
  in.workspace = parent + "/work"; // piorch doctor's
  p = make();
  EXPECT_LT(place(parent), place(in.workspace));
}

// A worker of pi-subagents has its own directory in the place of the host's.
TEST_F(SandboxPolicy, NorIsAnythingHiddenInADirectoryOfItsOwn) {
  fs::create_directories(scratch_parent(in.temp_dir));
  in.extras.own = {{in.temp_dir, "tmp", "a worker's own"}};
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home")));
}

TEST_F(SandboxPolicy, BothHomesAreHidden) {
  fs::create_directory(at("other"));
  in.homes.push_back(at("other"));
  EXPECT_THAT(paths(make(), access::hide), ElementsAre(at("home"), at("other")));
}

TEST_F(SandboxPolicy, AdditionalReads) {
  write_file(at("home/docs/a"), "");
  fs::create_directory_symlink(at("home/docs"), at("home/link"));
  settings.filesystem.additional_allow_read = {at("home/link"), at("home/gone"), "/usr"};
  const policy p = make();
  const auto link = std::find_if(p.rules.begin(), p.rules.end(),
                                 [&](const rule& r) { return r.path == at("home/link"); });
  ASSERT_NE(link, p.rules.end());
  EXPECT_EQ(link->source, at("home/docs")) << "the name is kept, the content comes from there";
  EXPECT_THAT(link->reason, HasSubstr("additionalAllowRead"));
  EXPECT_THAT(paths(p, access::read, false), ElementsAre(at("home/gone")));
}

TEST_F(SandboxPolicy, DirectoriesThatMustNotBeAWorkspace) {
  for (const std::string& path :
       {at("home"), at(""), at("tmp"), std::string("/"), std::string("/proc/1"),
        std::string("/sys"), std::string("/dev/shm"), at("home/.pi/agent/extensions")})
    EXPECT_THAT(refusal(path), HasSubstr("cannot be the workspace")) << path;
  fs::create_directory_symlink(at("home"), at("link"));
  EXPECT_THAT(refusal(at("link")), HasSubstr("cannot be the workspace")) << "nor through a link";
  EXPECT_THAT(refusal(at("gone")), HasSubstr("no such directory"));
  write_file(at("file"), "");
  EXPECT_THAT(refusal(at("file")), HasSubstr("not a directory"));
}

// Who may not write there can still work there: it is read-only for the command, too.
TEST_F(SandboxPolicy, NorOneOfTheSystemForWhoMayWriteThere) {
  for (const char* path : {"/etc", "/etc/default", "/usr/share", "/var", "/run"})
    if (::access(path, W_OK) == 0)
      EXPECT_THAT(refusal(path), HasSubstr("cannot be the workspace: programs and set")) << path;
    else
      EXPECT_EQ(refusal(path), "accepted") << path;
  if (fs::exists("/usr/src")) {
    EXPECT_EQ(refusal("/usr/src"), "accepted");
  }
}

TEST_F(SandboxPolicy, AHomeThatIsTheRootCannotBeHidden) {
  in.homes = {"/"};
  EXPECT_THAT(refusal(in.workspace), HasSubstr("set HOME"));
}

TEST_F(SandboxPolicy, OfPrivateDirectoriesOnlyOnesOwnAreHidden) {
  const auto parent = scratch_parent(at("tmp"));
  fs::create_directories(parent);
  EXPECT_THAT(paths(make(), access::hide), Contains(parent));
  if (::chown(parent.c_str(), 1, 1) != 0)
    return; // only root can make it somebody else's
  EXPECT_THAT(paths(make(), access::hide), Not(Contains(parent)));
}

// A command can put a link where PATH leads into the workspace: the next one must not fail of it.
TEST_F(SandboxPolicy, WhatTheHostRunsIsProtectedWhereItLies) {
  const auto make_program = [&](const std::string& path) {
    write_file(path, "#!/bin/sh\n");
    fs::permissions(path, fs::perms::owner_all);
  };
  make_program(at("home/work/own/node"));
  in.search_path = at("home/work/own");
  EXPECT_THAT(paths(make(), access::protect), Contains(at("home/work/own/node")));
  make_program(at("elsewhere/node"));
  fs::create_directory_symlink(at("elsewhere"), at("home/work/bin"));
  in.search_path = at("home/work/bin");
  EXPECT_THAT(paths(make(), access::protect), Not(Contains(HasSubstr("bin/node"))));
}

TEST_F(SandboxPolicy, EveryAncestorOfAProtectedPathIsPinnedParentsFirst) {
  write_file(at("home/work/a/b/.env"), "");
  write_file(at("home/work/.vscode/deep/x.pem"), "");
  const policy p = make();
  EXPECT_THAT(paths(p, access::pin), ElementsAre(at("home/work/a"), at("home/work/a/b")));
  EXPECT_THAT(paths(p, access::protect),
              ElementsAre(at("home/work/.vscode"), at("home/work/a/b/.env")))
      << "what lies in a protected directory needs nothing more";
  std::vector<std::string> order;
  for (const rule& r : p.rules)
    if (r.present && (r.what == access::pin || r.what == access::protect))
      order.push_back(r.path);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(SandboxPolicy, ALinkedWorkTreeWritesOnlyWhatItsCommitsNeed) {
  const std::string repo = at("home/repo/.git");
  for (const char* name : {"objects", "refs", "logs", "hooks"})
    fs::create_directories(repo + "/" + name);
  write_file(repo + "/worktrees/work/gitdir", in.workspace + "/.git\n");
  write_file(repo + "/worktrees/work/commondir", "../..\n");
  write_file(in.workspace + "/.git", "gitdir: " + repo + "/worktrees/work\n");
  const policy p = make();
  EXPECT_THAT(paths(p, access::write),
              testing::UnorderedElementsAre(repo + "/objects", repo + "/refs", repo + "/logs",
                                            repo + "/worktrees/work", in.workspace));
  EXPECT_THAT(paths(p, access::protect),
              testing::IsSupersetOf({in.workspace + "/.git", repo + "/worktrees/work/commondir",
                                     repo + "/worktrees/work/gitdir"}));
}

TEST_F(SandboxPolicy, AForeignPointerOpensNothing) {
  fs::create_directories(at("home/repo/.git/objects"));
  write_file(in.workspace + "/.git", "gitdir: " + at("home/repo/.git") + "\n");
  const policy p = make();
  EXPECT_THAT(paths(p, access::write), ElementsAre(in.workspace));
  EXPECT_THAT(paths(p, access::protect), testing::Contains(in.workspace + "/.git"));
}

TEST_F(SandboxPolicy, AnInstallationInTheWorkspaceIsProtected) {
  in.libexec_dir = in.workspace + "/build/libexec/piorch";
  in.program = in.workspace + "/build/bin/piorch";
  write_file(in.program, "");
  fs::create_directories(in.libexec_dir);
  EXPECT_THAT(paths(make(), access::protect), testing::IsSupersetOf({in.libexec_dir, in.program}));
}

} // namespace
} // namespace piorch::sandbox
