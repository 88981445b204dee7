// Git: the host's Git runs nothing that a command has written, and ordinary work
// with Git goes on inside.
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace piorch::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class E2eExecGit : public testing::Test {
protected:
  // A command in another directory than the project.
  finished in(const fs::path& directory, const std::string& script) const {
    program p = w.exec(script);
    p.directory = directory;
    return run(p);
  }
  finished host_in(const fs::path& directory, std::vector<std::string> argv) const {
    program p = w.host(std::move(argv));
    p.directory = directory;
    return run(p);
  }
  // Each line must fail.
  void refused(const fs::path& directory, const std::string& lines) const {
    // rename(2) alone: mv copies what it cannot rename, and removes what it can.
    std::string script = "rn() { perl -e 'rename($ARGV[0], $ARGV[1]) or exit 1' \"$@\"; }\n";
    std::istringstream in_lines(lines);
    for (std::string line; std::getline(in_lines, line);)
      if (const auto at = line.find_first_not_of(' '); at != std::string::npos)
        script += "if ( " + line.substr(at) +
                  " ) 2>/dev/null; then echo 'BROKEN: " + line.substr(at) + "'; fi\n";
    const auto r = in(directory, script + "echo tried");
    EXPECT_EQ(r.out, "tried\n") << r.err;
  }

  workspace w;
};

TEST_F(E2eExecGit, TheRepositoryCanBeNeitherRenamedNorReplaced) {
  refused(w.project(), R"sh(
    rn .git moved
    rn .git /tmp/moved
    rmdir .git
    mkdir -p other/x && rn other .git
    ln -sfnT other .git
    rn .git/hooks .git/elsewhere
    mkdir fresh && rn fresh .git/hooks
    echo evil > .git/hooks/post-commit
    echo evil > .git/config.worktree
    mv README.md .git/config.worktree
    echo evil > .git/modules/lib/hooks/pre-commit
    rn .git/modules/lib .git/modules/other
    rn .git/modules .git/other
  )sh");
  EXPECT_EQ(host_in(w.project(), {"git", "status", "--porcelain", "README.md"}).out, "");
}

TEST_F(E2eExecGit, NoConfigurationRunsPrograms) {
  const std::string module = ".git/modules/lib/config";
  const auto before = read_file(w.project() / ".git/config");
  const auto before_module = read_file(w.project() / module);
  refused(w.project(), R"sh(
    git config core.fsmonitor evil
    git config core.hooksPath evil
    git config alias.st '!evil'
    git config include.path evil
    git config filter.x.clean evil
    git config core.sshCommand evil
    printf '[core]\n\tfsmonitor = evil\n' > evil; mv evil .git/config
    printf '[core]\n\tpager = evil\n' > evil; ln -f evil .git/config
    git config -f .git/modules/lib/config core.fsmonitor evil
    printf '[core]\n\teditor = evil\n' > evil; mv evil .git/modules/lib/config
    mkdir -p x/objects && printf '[core]\n\tfsmonitor = evil\n' > x/config && mkdir x/refs
  )sh");
  // Written directly it is a copy, of which nothing is taken.
  run(w.exec("for f in .git/config " + module +
             "; do printf '[core]\n\tfsmonitor = evil\n' >> $f; "
             "printf '[alias]\n\tst = !evil\n' > $f; done"));
  EXPECT_EQ(read_file(w.project() / ".git/config"), before);
  EXPECT_EQ(read_file(w.project() / module), before_module);
  const auto r = run(w.exec("git config -f " + module +
                            " remote.origin.url ../else && git config "
                            "branch.main.remote origin && echo fine"));
  EXPECT_EQ(r.out, "fine\n") << r.err;
}

TEST_F(E2eExecGit, ALineSaysWhichSettingWasRefused) {
  const auto r = run(w.exec("git config core.fsmonitor evil; git config core.fsmonitor evil; "
                            "git config user.name me"));
  EXPECT_EQ(r.status, 0);
  const std::string line = "piorch exec: " + (w.project() / ".git/config").string() +
                           ": refused: git config: core.fsmonitor\n";
  EXPECT_THAT(r.err, testing::EndsWith(line));
  EXPECT_EQ(r.err.find(line), r.err.rfind(line)) << "once";
}

TEST_F(E2eExecGit, WhatLeadsToLinkedWorkTreesCannotBeRedirected) {
  w.host_output({"git", "worktree", "add", "-q", (w.home() / "linked").string()});
  const std::string dir = ".git/worktrees/linked";
  const auto before = snapshot(w.project() / dir);
  refused(w.project(), "echo ../../evil > " + dir + "/commondir\necho /evil > " + dir +
                           "/gitdir\nrn " + dir + " .git/worktrees/x\nrn .git/worktrees .git/x\n" +
                           "rm -f " + dir + "/commondir");
  EXPECT_EQ(snapshot(w.project() / dir), before);
}

TEST_F(E2eExecGit, ALinkedWorkTreeIsAWorkspace) {
  const auto linked = w.home() / "linked";
  w.host_output({"git", "worktree", "add", "-qb", "topic", linked.string()});
  const auto pointer = read_file(linked / ".git");
  // The repository has protected names of its own; what is not there now must not appear.
  const auto config = read_file(w.project() / ".git/config");
  const auto r = in(linked, R"sh(set -e
    git status --short; echo new > new.txt; git add new.txt; git commit -qm topic
    git log --format=%s; git stash list; git branch --show-current)sh");
  EXPECT_EQ(r.out, "topic\nfirst\ntopic\n") << r.err;
  EXPECT_EQ(w.host_output({"git", "log", "-1", "--format=%s", "topic"}), "topic\n");
  const std::string common = (w.project() / ".git").string();
  const std::string own = common + "/worktrees/linked";
  refused(linked, "echo 'gitdir: /evil' > .git\nrn .git x\nrm -f .git\nln -sfT /evil .git\n" +
                      ("echo evil > " + common + "/config\n") +
                      ("echo evil > " + common + "/hooks/pre-commit\n") +
                      ("echo evil > " + common + "/config.worktree\n") +
                      ("echo evil > " + common + "/commondir\n") +
                      ("echo evil > " + common + "/HEAD\n") + ("rm -rf " + common + "/refs\n") +
                      ("rn " + own + " " + own + "x\n") + ("echo /evil > " + own + "/commondir\n") +
                      ("echo /evil > " + own + "/gitdir\n") +
                      ("echo evil > " + w.project().string() + "/README.md"));
  EXPECT_EQ(read_file(linked / ".git"), pointer);
  EXPECT_EQ(read_file(w.project() / ".git/config"), config);
}

TEST_F(E2eExecGit, ASubmoduleIsAWorkspace) {
  const auto lib = w.top() / "lib";
  fs::create_directories(lib);
  host_in(lib, {"git", "init", "-q"});
  write_file(lib / "lib.c", "int lib;\n");
  host_in(lib, {"git", "add", "."});
  host_in(lib, {"git", "commit", "-qm", "lib"});
  fs::remove_all(w.project() / ".git/modules");
  w.host_output({"git", "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib.string(),
                 "third/lib"});
  const auto module = w.project() / "third/lib";
  const auto pointer = read_file(module / ".git");
  const auto r = in(module, R"sh(set -e
    echo 'int more;' >> lib.c; git commit -qam more; git remote set-url origin ../else; git log --format=%s)sh");
  EXPECT_EQ(r.out, "more\nlib\n") << r.err;
  const std::string dir = (w.project() / ".git/modules/third/lib").string();
  refused(module, "echo 'gitdir: /evil' > .git\nrn .git x\necho evil > " + dir +
                      "/hooks/post-commit\nrn " + dir + "/hooks " + dir + "/x\nrn " + dir + " " +
                      dir + "x\necho evil > " + (w.project() / ".git/config").string());
  EXPECT_EQ(read_file(module / ".git"), pointer);

  // From above, its Git directory is one of .git/modules.
  refused(w.project(), R"sh(
    echo evil > .git/modules/third/lib/hooks/post-commit
    rn .git/modules/third .git/modules/x
    echo 'gitdir: /evil' > third/lib/.git
    rn third/lib third/x
    rn third x)sh");
}

TEST_F(E2eExecGit, APointerThatIsNotVouchedForIsNotFollowed) {
  // As if an earlier worker had written it: a repository of somebody else in the home.
  const auto tree = w.home() / "tree";
  write_file(tree / ".git", "gitdir: " + (w.project() / ".git").string() + "\n");
  const auto before = snapshot(w.project() / ".git");
  const auto r =
      in(tree, "git commit --allow-empty -qm evil; git log; ls " + (w.project() / ".git").string() +
                   "; echo evil > " + (w.project() / ".git/HEAD").string());
  EXPECT_NE(r.status, 0);
  EXPECT_EQ(r.out, "") << "not even readable: it lies in the home";
  EXPECT_EQ(snapshot(w.project() / ".git"), before);
}

TEST_F(E2eExecGit, ANestedRepositoryIsProtectedLikeTheRoot) {
  fs::create_directories(w.project() / "vendored/deep");
  host_in(w.project() / "vendored/deep", {"git", "init", "-q"});
  refused(w.project(), R"sh(
    rn vendored/deep/.git x
    rn vendored x
    rn vendored/deep vendored/x
    echo evil > vendored/deep/.git/hooks/pre-commit
    rn vendored/deep/.git/hooks x)sh");
  const auto r = run(w.exec("cd vendored/deep && echo x > x && git add x && git commit -qm nested "
                            "&& git log --format=%s"));
  EXPECT_EQ(r.out, "nested\n") << r.err;
}

TEST_F(E2eExecGit, WhatSettingsNameInTheWorkTreeIsProtected) {
  write_file(w.project() / ".husky/pre-commit", "#!/bin/sh\necho hooked > hooked\n");
  fs::permissions(w.project() / ".husky/pre-commit", fs::perms::owner_all);
  write_file(w.project() / "tools/clean.sh", "cat\n");
  write_file(w.project() / "tools/quoted.sh", "cat\n");
  write_file(w.project() / "tools/t", "cat\n");
  write_file(w.project() / "tools/other.sh", "cat\n");
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"core.hooksPath", ".husky"},
                                          {"include.path", "../.gitshared"},
                                          {"filter.x.clean", "sh tools/clean.sh %f"},
                                          {"alias.q", "!sh -c 'tools/quoted.sh \"$1\"' -"},
                                          {"alias.t", "!$(git rev-parse --show-toplevel)/tools/t"},
                                          {"core.pager", "./tools/pager"}})
    w.host_output({"git", "config", key, value});
  const auto before = snapshot(w.project() / ".husky");
  refused(w.project(), R"sh(
    echo evil > .husky/pre-commit
    echo evil > .husky/post-commit
    mkdir .husky/_
    rn .husky x
    echo evil > .gitshared
    ln -s README.md .gitshared
    rn README.md .gitshared
    echo evil > tools/clean.sh
    rn tools/clean.sh tools/x
    echo evil > tools/quoted.sh
    echo evil > tools/t
    rn tools x
    echo evil > tools/pager)sh");
  EXPECT_EQ(snapshot(w.project() / ".husky"), before);
  // Work goes on, with the hook.
  const auto r =
      run(w.exec("set -e; echo fine > tools/other.sh; echo new > new.txt; git add new.txt; "
                 "git commit -qm second; cat hooked; git log -1 --format=%s; "
                 "git rebase -q --force-rebase HEAD~1; git status --short new.txt"));
  EXPECT_EQ(r.out, "hooked\nsecond\n") << r.err;
}

// The same names in other work trees: added ones, clones, and what a .git file makes one.
TEST_F(E2eExecGit, WhatSettingsOfTheTreeAroundNameIsProtected) {
  write_file(w.project() / "app/.husky/pre-commit", "#!/bin/sh\ntrue\n");
  write_file(w.project() / "app/tools/clean.sh", "cat\n");
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"core.hooksPath", "app/.husky"},
                                          {"include.path", "../app/more.inc"},
                                          {"filter.x.clean", "app/tools/clean.sh"}})
    w.host_output({"git", "config", key, value});
  const auto r =
      run(w.piorch({"exec", "-C", "app", "-c",
                    "echo evil > .husky/post-index-change; echo evil > .husky/pre-commit;"
                    "echo evil > tools/clean.sh; echo evil > more.inc; echo fine > fine"}));
  EXPECT_EQ(read_file(w.project() / "app/fine"), "fine\n") << r.err;
  EXPECT_EQ(read_file(w.project() / "app/.husky/pre-commit"), "#!/bin/sh\ntrue\n");
  EXPECT_EQ(read_file(w.project() / "app/tools/clean.sh"), "cat\n");
  EXPECT_FALSE(fs::exists(w.project() / "app/.husky/post-index-change"));
  EXPECT_FALSE(fs::exists(w.project() / "app/more.inc"));
}

TEST_F(E2eExecGit, WhatSettingsNameInOtherWorkTreesIsKeptOut) {
  write_file(w.project() / ".githooks/pre-commit", "#!/bin/sh\ntrue\n");
  w.host_output({"git", "add", ".githooks"});
  w.host_output({"git", "commit", "-qm", "hooks"});
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"core.hooksPath", ".githooks"}, {"filter.x.clean", "./own/clean %f"}})
    w.host_output({"git", "config", key, value});
  write_file(w.home() / ".gitconfig", "[core]\n\tfsmonitor = ./all/monitor\n");
  const auto made =
      run(w.exec("git worktree add -q old HEAD~1; git init -q fresh; mkdir -p plain"));
  ASSERT_TRUE(fs::exists(w.project() / "old/.git")) << made.err;
  refused(w.project(), R"sh(
    git worktree add new HEAD
    git -C old checkout -q $(git rev-parse HEAD) .githooks
    mkdir old/.githooks
    ln -s ../plain old/.githooks
    mkdir -p old/own && echo evil > old/own/clean
    mkdir plain/x && rn plain/x old/.githooks
    mkdir -p plain/y && echo evil > plain/y/clean && rn plain/y old/own
    mkdir -p fresh/all && echo evil > fresh/all/monitor
    mkdir -p late/all && echo evil > late/all/monitor && git init late
    mkdir -p here/.githooks && echo gitdir: ../.git > here/.git
    mkdir -p all && echo evil > all/monitor)sh");
  EXPECT_FALSE(fs::exists(w.project() / "new/.githooks"));
  EXPECT_FALSE(fs::exists(w.project() / "late/.git"));
  // A repository of its own is not led by the settings of another.
  const auto r = run(
      w.exec("mkdir fresh/.githooks && echo fine > fresh/.githooks/x && cat fresh/.githooks/x"));
  EXPECT_EQ(r.out, "fine\n") << r.err;
  const auto policy = run(w.piorch({"policy"}));
  EXPECT_THAT(policy.out, HasSubstr("own/clean"));
  EXPECT_THAT(policy.out, HasSubstr("all/monitor"));
}

TEST_F(E2eExecGit, WhatHooksLeadToIsProtected) {
  const auto linked = w.project() / "linked";
  w.host_output({"git", "worktree", "add", "-q", linked.string()});
  w.host_output({"git", "init", "-q", "nested"});
  const auto common = w.project() / ".git";
  write_file(w.project() / "scripts/hook.sh", "#!/bin/sh\n");
  write_file(w.project() / "nested/githooks/pre-commit", "#!/bin/sh\n");
  write_file(linked / "tools/hook.sh", "#!/bin/sh\n");
  write_file(w.project() / ".pi/extensions/other.ts", "");
  write_file(w.project() / "src/foo.ts", "");
  fs::create_symlink("../../scripts/hook.sh", common / "hooks/pre-push");
  fs::create_symlink("../../src/absent.sh", common / "hooks/pre-rebase");
  fs::create_symlink((linked / "tools/hook.sh").string(), common / "hooks/post-merge");
  fs::create_symlink("../../src/foo.ts", w.project() / ".pi/extensions/foo.ts");
  fs::remove_all(w.project() / "nested/.git/hooks");
  fs::create_symlink("../githooks", w.project() / "nested/.git/hooks");
  refused(w.project(), R"sh(
    echo evil > scripts/hook.sh
    rn scripts/hook.sh scripts/x
    rn scripts x
    echo evil > src/absent.sh
    echo evil > src/foo.ts
    echo evil > nested/githooks/pre-commit
    echo evil > nested/githooks/post-commit
    rn nested/githooks nested/x
    rn nested x)sh");
  refused(linked, "echo evil > tools/hook.sh\nrn tools x");
  const auto r = run(w.exec("echo fine > scripts/other.sh && echo fine > src/other.ts && echo ok"));
  EXPECT_EQ(r.out, "ok\n") << r.err;
}

TEST_F(E2eExecGit, ACommandDoesNotCloseTheSourcesToTheNextBySettings) {
  run(w.exec("mkdir -p evil sub; printf '[core]\n\thooksPath = ../src\n' > evil/config; "
             "echo 'gitdir: ../evil' > sub/.git"));
  ASSERT_EQ(read_file(w.project() / "sub/.git"),
            "gitdir: " + (w.project() / "evil").string() + "\n");
  const auto r = run(w.exec("echo fine > src/new && echo ok"));
  EXPECT_EQ(r.out, "ok\n") << r.err;
}

} // namespace
} // namespace piorch::test
