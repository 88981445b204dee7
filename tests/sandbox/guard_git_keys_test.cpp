#include "sandbox/guard/git_keys.hpp"

#include <gtest/gtest.h>

using namespace piorch::sandbox::guard;

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
                              "[gc]repackFilterTo=x",
                              "[maintenance]strategy=incremental",
                              "[maintenance \"incremental-repack\"]auto=-1",
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
    EXPECT_NE(first_refused("", setting), "") << setting;
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
        "[maintenance]auto=false",
        "[receive]denyCurrentBranch=updateInstead",
        "[lfs]repositoryformatversion=0",
        "[advice]detachedHead=false",
        "[http]postBuffer=1"})
    EXPECT_EQ(first_refused("", setting), "") << setting;
}

// With the value a link could be made for later.
TEST(SandboxGuardGitKeys, ASubmoduleIsFoundWithoutItsWorkTree) {
  constexpr const char* module = "/w/.git/modules/lib";
  const std::string others = "[core]\n\tbare = false\n[remote \"o\"]\n\tworktree = x\n";
  const auto with = [&](const std::string& value) {
    return "[core]\n\tworktree = " + value + "\n\tbare = false\n" + others.substr(21);
  };
  EXPECT_EQ(without_work_tree("", with("../../../lib"), module), others);
  EXPECT_EQ(without_work_tree(with("../../../x"), with("../../../lib"), module), others);
  const auto users = with("../../../lib"); // set by the host
  EXPECT_EQ(without_work_tree(users, users, module), users);
  EXPECT_EQ(first_refused(users, users), "");
  for (const char* value :
       {"/w/lib", "../../../../other", "../../..", "../../hooks", "../../../.git/hooks",
        "../../../.GIT/x", "../../../lib/.git", "lib", "../../../../w/lib", "\"\""}) {
    EXPECT_EQ(without_work_tree("", with(value), module), with(value));
    EXPECT_EQ(first_refused("", with(value)), "core.worktree") << value;
  }
  EXPECT_EQ(without_work_tree("", with("../../../../.git/modules/lib/../../../x/lib"),
                              "/w/.git/modules/x/lib"),
            with("../../../../.git/modules/lib/../../../x/lib"));
  EXPECT_EQ(without_work_tree("", with("../lib"), "/w/.git"), with("../lib"));
  // Spelled otherwise than Git does it stays, and is refused.
  for (const char* text : {"[core]worktree=../../../lib\n", "[core]\nWorktree=../../../lib\n",
                           "[core]\nworktree = ../../../l\\\nib\n",
                           "[core]\nworktree = ../../../a\nworktree = ../../../lib\n"}) {
    EXPECT_EQ(without_work_tree("", text, module), text);
    EXPECT_EQ(first_refused("", text), "core.worktree") << text;
  }
}

// A bare repository runs its hooks and programs from where Git is called.
TEST(SandboxGuardGitKeys, ARepositoryDoesNotBecomeBare) {
  const std::string init = "[core]\n\tbare = ", rest = "\tfilemode = true\n";
  EXPECT_EQ(first_refused("", init + "true\n"), "");
  EXPECT_EQ(first_refused("[core]\n" + rest, "[core]\n" + rest + "\tbare = true\n"), "");
  EXPECT_EQ(first_refused(init + "true\n", init + "true\n" + rest), "");
  EXPECT_EQ(first_refused(init + "true\n", init + "false\n"), "");
  for (const char* yes : {"true\n", "1\n", "\n", "yes\n", "false\n\tbare\n"})
    EXPECT_EQ(first_refused(init + "false\n", init + yes), "core.bare") << yes;
  EXPECT_EQ(first_refused("", init + "true\n", settings_of::work_tree), "core.bare");
}

TEST(SandboxGuardGitKeys, KnowsWhoMayHaveIdsOfSha256) {
  for (const char* text :
       {"[extensions]objectFormat=sha256",
        "[extensions]\nobjectformat = sha256\nobjectformat = sha1", "[EXTENSIONS]\nOBJECTFORMAT\n",
        "[extensions]objectFormat=SHA256", "[extensions]objectFormat=",
        "[extensions]objectFormat=\"sha25\"6", "[core]\n[extensions]objectFormat=new",
        "[extensions]objectFormat=sha1 [", "[x]\n\x01 = 1\n[extensions]objectFormat=sha256"})
    EXPECT_TRUE(may_be_sha256(text)) << text;
  for (const char* text :
       {"", "[core]bare=false", "[extensions]objectFormat=sha1", "[", "sha256",
        "[extensions]compatObjectFormat=sha256", "[init]defaultObjectFormat=sha256",
        "[extensions \"a\"]objectFormat=sha256"})
    EXPECT_FALSE(may_be_sha256(text)) << text;
}

TEST(SandboxGuardGitKeys, LeavesTheUsersOwnSettingsAlone) {
  constexpr std::string_view users =
      "[alias]co=checkout\n[filter \"lfs\"]clean=git-lfs clean\n[core]fsmonitor=w\n";
  EXPECT_EQ(first_refused(users, std::string(users) + "[user]name=n\n"), "");
  EXPECT_EQ(first_refused(users, "[core]bare=false\n"), "");
  EXPECT_EQ(first_refused(users, std::string(users) + "[core]fsmonitor=evil\n"), "core.fsmonitor");
  EXPECT_EQ(first_refused(users, "[filter \"lfs\"]clean=evil\n"), "filter.lfs.clean");
  EXPECT_EQ(first_refused(users, "[filter \"LFS\"]clean=git-lfs clean\n"), "filter.LFS.clean");
}

TEST(SandboxGuardGitKeys, RefusesReorderingAndPartialRemovalOfValues) {
  constexpr std::string_view two = "[core]fsmonitor=evil\nfsmonitor=false\n";
  EXPECT_EQ(first_refused(two, "[core]fsmonitor=false\nfsmonitor=evil\n"), "core.fsmonitor");
  EXPECT_EQ(first_refused(two, "[core]fsmonitor=evil\n"), "core.fsmonitor");
  EXPECT_EQ(first_refused("[core]fsmonitor\n", "[core]fsmonitor=\n"), "core.fsmonitor");
  EXPECT_EQ(first_refused("", "[core]\nx = \""), "(unreadable)");
}

// Git fetches what is missing from such a remote without being asked to.
TEST(SandboxGuardGitKeys, ThePromisorsOfAPartialCloneKeepTheirAddress) {
  const std::string url = "[remote \"o\"]url=https://example.org/x\n";
  for (const std::string& mark :
       std::vector<std::string>{"[remote \"o\"]promisor=true\n", "[extensions]partialClone=o\n",
                                "[remote \"o\"]partialclonefilter=blob:none\n"}) {
    const std::string old = url + mark;
    EXPECT_EQ(first_refused(old, old + "[user]name=n\n[remote \"p\"]url=x\n"), "");
    EXPECT_EQ(first_refused(old, url), "") << "no promisor any more";
    EXPECT_EQ(first_refused(old, ""), "");
    EXPECT_NE(first_refused(url, old), "");
    for (const std::string& fresh : std::vector<std::string>{
             mark, "[remote \"o\"]url=https://example.org/y\n" + mark, old + url,
             "[remote \"o\"]url=x\n" + old, old + "[remote \"o\"]url=\n"})
      EXPECT_EQ(first_refused(old, fresh), "remote.o.url") << fresh;
    EXPECT_EQ(first_refused(mark, old), "remote.o.url") << "the name was the address";
  }
}

TEST(SandboxGuardGitKeys, AWorkTreesOwnSettingsGiveNoRemoteAnAddress) {
  const std::string url = "[remote \"o\"]url=https://example.org/x\n";
  const auto of_tree = settings_of::work_tree;
  EXPECT_EQ(first_refused("", url, of_tree), "remote.o.url");
  EXPECT_EQ(first_refused(url, "", of_tree), "remote.o.url");
  EXPECT_EQ(first_refused(url, url + "[core]sparseCheckout=true\n", of_tree), "");
}
