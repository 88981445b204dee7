#include "sandbox/guard/git_keys.hpp"

#include <gtest/gtest.h>

using namespace piorch::sandbox::guard;

namespace {
constexpr const char* git_dir = "/w/.git";
}

TEST(SandboxGuardGitKeys, RefusesWhatRunsProgramsOrReadsOtherFiles) {
  for (const char* setting : {"[core]hooksPath=x",
                              "[core]fsmonitor=x",
                              "[core]sshCommand=x",
                              "[core]pager=x",
                              "[core]editor=x",
                              "[core]gitProxy=x",
                              "[core]askPass=x",
                              "[core]attributesFile=x",
                              "[core]excludesFile=x",
                              "[core]alternateRefsCommand=x",
                              "[core]worktree=x",
                              "[gpg]program=x",
                              "[gpg \"ssh\"]program=x",
                              "[gpg]format=ssh",
                              "[filter \"a\"]clean=x",
                              "[filter \"a\"]smudge=x",
                              "[filter \"a\"]process=x",
                              "[filter.a]clean=x",
                              "[diff \"a\"]textconv=x",
                              "[diff \"a\"]command=x",
                              "[diff]external=x",
                              "[diff]orderFile=x",
                              "[diff]tool=x",
                              "[merge \"a\"]driver=x",
                              "[merge]tool=x",
                              "[mergetool \"a\"]cmd=x",
                              "[mergetool \"a\"]path=x",
                              "[difftool \"a\"]cmd=x",
                              "[credential]helper=x",
                              "[credential \"https://example.org\"]helper=x",
                              "[credential]username=x",
                              "[alias]a=!x",
                              "[alias]a=x",
                              "[include]path=x",
                              "[includeIf \"gitdir:/\"]path=x",
                              "[url \"ext::x\"]insteadOf=https",
                              "[url \"x\"]pushInsteadOf=y",
                              "[extensions]worktreeConfig=true",
                              "[extensions]future=1",
                              "[protocol \"ext\"]allow=always",
                              "[protocol]allow=always",
                              "[remote \"o\"]uploadpack=x",
                              "[remote \"o\"]receivepack=x",
                              "[remote \"o\"]proxy=x",
                              "[remote \"o\"]vcs=x",
                              "[remote \"o\"]url=ext::sh -c x",
                              "[remote \"ext::sh -c x\"]fetch=a",
                              "[remote \"a::b\"]skipfetchall=false",
                              "[remote \"o\"]pushurl=foo::bar",
                              "[remote \"o\"]url=-x",
                              "[remote \"o\"]url=ext://sh",
                              "[remote \"o\"]url=HTTPS://example.org/x",
                              "[remote \"o\"]pushurl=foo://x",
                              "[remote \"foo://x\"]fetch=a",
                              "[remote]pushDefault=foo://x",
                              "[branch \"m\"]remote=foo://x",
                              "[branch \"m\"]pushRemote=a_b://x",
                              "[submodule \"s\"]url=foo://x",
                              "[remote \"o\"]promisor=true",
                              "[remote \"o\"]promisor",
                              "[remote \"o\"]partialclonefilter=blob:none",
                              "[extensions]partialClone=o",
                              "[core]sharedRepository=world",
                              "[commit]gpgSign=true",
                              "[tag]gpgSign=true",
                              "[tag]forceSignAnnotated=true",
                              "[push]gpgSign=if-asked",
                              "[log]showSignature=true",
                              "[merge]verifySignatures=true",
                              "[user]signingKey=0",
                              "[submodule \"s\"]update=!x",
                              "[submodule \"s\"]url=ext::x",
                              "[sequence]editor=x",
                              "[pager]log=x",
                              "[browser \"a\"]cmd=x",
                              "[man \"a\"]cmd=x",
                              "[web]browser=x",
                              "[uploadpack]packObjectsHook=x",
                              "[trailer \"a\"]command=x",
                              "[trailer \"a\"]cmd=x",
                              "[interactive]diffFilter=x",
                              "[sendemail]sendmailCmd=x",
                              "[instaweb]httpd=x",
                              "[gc]recentObjectsHook=x",
                              "[tar \"a\"]command=x",
                              "[init]templateDir=x",
                              "[commit]template=x",
                              "[lfs]customtransfer=x",
                              "[lfs \"customtransfer.a\"]path=x",
                              "[http]proxy=x",
                              "[http]sslVerify=false",
                              "[http]cookieFile=x",
                              "[pull]twohead=x",
                              "[pull]octopus=x",
                              "[branch \"m\"]mergeOptions=-sx",
                              "[safe]directory=*",
                              "[ssh]variant=x",
                              "[imap]tunnel=x",
                              "[guitool \"a\"]cmd=x",
                              "[help]browser=x",
                              "[fetch \"fsck\"]skipList=x",
                              "[unknown]key=x",
                              "[core]newKey=x",
                              "[core \"\"]hooksPath=x",
                              "[core] bare=1\\\n\n[core]hooksPath=x"})
    EXPECT_NE(first_refused("", setting, git_dir), "") << setting;
}

TEST(SandboxGuardGitKeys, LetsOrdinaryWorkPass) {
  for (const char* setting :
       {"[core]repositoryformatversion=0\nfilemode=true\nbare=false\nlogallrefupdates=true",
        "[core]ignorecase=true\nsymlinks=false\nprecomposeunicode=true\nsparseCheckout=true",
        "[remote \"origin\"]url=https://example.org/x.git\nfetch=+refs/heads/*:refs/remotes/o/*",
        "[remote \"origin\"]url=git@example.org:x.git\npushurl=ssh://[::1]/x",
        "[remote \"o\"]url=git://example.org/x\nurl=git+ssh://x/y\nurl=ssh+git://x/y\nurl=http://x",
        "[remote \"o\"]url=file:///srv/x\nurl=/srv/x\nurl=../x\nurl=./a/b://c\nurl=example.org:x",
        "[remote]pushDefault=o",
        "[branch \"main\"]remote=origin\nmerge=refs/heads/main\nrebase=true\ndescription=x",
        "[branch \"main\"]vscode-merge-base=origin/main",
        "[branch]autoSetupRebase=always",
        "[user]name=n\nemail=e@example.org",
        "[pull]rebase=true\nff=only",
        "[push]default=current\nautoSetupRemote=true",
        "[merge]conflictStyle=zdiff3",
        "[submodule \"a\"]url=../x\nactive=true\nupdate=checkout",
        "[submodule]active=.",
        "[extensions]objectFormat=sha256",
        "[gc]auto=0",
        "[color]ui=auto",
        "[color \"diff\"]meta=blue",
        "[commit]verbose=true",
        "[tag]sort=-v:refname",
        "[rerere]enabled=true",
        "[diff]renames=copies",
        "[diff \"c\"]xfuncname=^x",
        "[maintenance]auto=false\nstrategy=incremental",
        "[receive]denyCurrentBranch=updateInstead",
        "[lfs]repositoryformatversion=0",
        "[advice]detachedHead=false",
        "[http]postBuffer=1"})
    EXPECT_EQ(first_refused("", setting, git_dir), "") << setting;
}

TEST(SandboxGuardGitKeys, KnowsASubmodulesOwnDirectoryFromAForeignOne) {
  constexpr const char* module = "/w/.git/modules/lib";
  EXPECT_EQ(first_refused("", "[core]worktree=../../../lib", module), "");
  EXPECT_EQ(first_refused("", "[core]worktree=../../../../.git/modules/lib/../../../x/lib",
                          "/w/.git/modules/x/lib"),
            "core.worktree");
  for (const char* value :
       {"/w/lib", "../../../../other", "../../..", "../../hooks", "../../../.git/hooks",
        "../../../.GIT/x", "../../../lib/.git", "lib", "../../../../w/lib", ""})
    EXPECT_EQ(first_refused("", std::string("[core]worktree=") + value, module), "core.worktree")
        << value;
  EXPECT_EQ(first_refused("", "[core]worktree=../lib", git_dir), "core.worktree");
}

TEST(SandboxGuardGitKeys, LeavesTheUsersOwnSettingsAlone) {
  constexpr std::string_view users =
      "[alias]co=checkout\n[filter \"lfs\"]clean=git-lfs clean\n[core]fsmonitor=w\n";
  EXPECT_EQ(first_refused(users, std::string(users) + "[user]name=n\n", git_dir), "");
  EXPECT_EQ(first_refused(users, "[core]bare=false\n", git_dir), "");
  EXPECT_EQ(first_refused(users, std::string(users) + "[core]fsmonitor=evil\n", git_dir),
            "core.fsmonitor");
  EXPECT_EQ(first_refused(users, "[filter \"lfs\"]clean=evil\n", git_dir), "filter.lfs.clean");
  EXPECT_EQ(first_refused(users, "[filter \"LFS\"]clean=git-lfs clean\n", git_dir),
            "filter.LFS.clean");
}

TEST(SandboxGuardGitKeys, RefusesReorderingAndPartialRemovalOfValues) {
  constexpr std::string_view two = "[core]fsmonitor=evil\nfsmonitor=false\n";
  EXPECT_EQ(first_refused(two, "[core]fsmonitor=false\nfsmonitor=evil\n", git_dir),
            "core.fsmonitor");
  EXPECT_EQ(first_refused(two, "[core]fsmonitor=evil\n", git_dir), "core.fsmonitor");
  EXPECT_EQ(first_refused("[core]fsmonitor\n", "[core]fsmonitor=\n", git_dir), "core.fsmonitor");
  EXPECT_EQ(first_refused("", "[core]\nx = \"", git_dir), "(unreadable)");
}

// Git fetches what is missing from such a remote without being asked to.
TEST(SandboxGuardGitKeys, ThePromisorsOfAPartialCloneKeepTheirAddress) {
  const std::string url = "[remote \"o\"]url=https://example.org/x\n";
  for (const std::string& mark :
       std::vector<std::string>{"[remote \"o\"]promisor=true\n", "[extensions]partialClone=o\n",
                                "[remote \"o\"]partialclonefilter=blob:none\n"}) {
    const std::string old = url + mark;
    EXPECT_EQ(first_refused(old, old + "[user]name=n\n[remote \"p\"]url=x\n", git_dir), "");
    EXPECT_EQ(first_refused(old, url, git_dir), "") << "no promisor any more";
    EXPECT_EQ(first_refused(old, "", git_dir), "");
    EXPECT_NE(first_refused(url, old, git_dir), "");
    for (const std::string& fresh : std::vector<std::string>{
             mark, "[remote \"o\"]url=https://example.org/y\n" + mark, old + url,
             "[remote \"o\"]url=x\n" + old, old + "[remote \"o\"]url=\n"})
      EXPECT_EQ(first_refused(old, fresh, git_dir), "remote.o.url") << fresh;
    EXPECT_EQ(first_refused(mark, old, git_dir), "remote.o.url") << "the name was the address";
  }
}

TEST(SandboxGuardGitKeys, AWorkTreesOwnSettingsGiveNoRemoteAnAddress) {
  const std::string url = "[remote \"o\"]url=https://example.org/x\n";
  const auto of_tree = settings_of::work_tree;
  EXPECT_EQ(first_refused("", url, git_dir, of_tree), "remote.o.url");
  EXPECT_EQ(first_refused(url, "", git_dir, of_tree), "remote.o.url");
  EXPECT_EQ(first_refused(url, url + "[core]sparseCheckout=true\n", git_dir, of_tree), "");
}
