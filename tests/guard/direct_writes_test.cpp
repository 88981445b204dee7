// Git settings that are written directly and not through a lock file: put in place when the
// writer closes them, if all that they add is harmless. Judged from the host, at the end.
#include "tests/guard/workspace.hpp"
#include "tests/support/read_file.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using piorch::test::workspace;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

class GuardDirectWrites : public testing::Test {
protected:
  std::string text(const char* name = "repo/.git/config") const {
    return piorch::test::read_file(w.path() / name);
  }
  workspace::outcome run(const std::string& script,
                         workspace::guard g = workspace::guard::on) const {
    auto out = w.shell("u() { printf '[user]\\n\\tname = %s\\n' $1; }\n"
                       "e() { printf '[core]\\n\\tfsmonitor = planted\\n'; }\n" +
                           script + "\necho finished: $?",
                       g);
    EXPECT_THAT(out.output, HasSubstr("finished: 0")) << out.output;
    EXPECT_EQ(w.planted(), "") << script;
    return out;
  }

  workspace w;
  const std::string before = text();
};

} // namespace

TEST_F(GuardDirectWrites, HarmlessOnesArePutInPlace) {
  EXPECT_EQ(run("u me >> repo/.git/config").refusals, "");
  EXPECT_EQ(text(), before + "[user]\n\tname = me\n");
  EXPECT_EQ(run("cp repo/.git/config c; u you >> c; cat c > repo/.git/config").refusals, "");
  EXPECT_THAT(text(), HasSubstr("you"));
  run("chmod 640 repo/.git/config; perl -e 'open F, q(+<), q(repo/.git/config); seek F, 0, 2; "
      "print F qq([gc]\\n\\tauto = 7\\n)'");
  EXPECT_THAT(text(), AllOf(HasSubstr("you"), HasSubstr("auto = 7")));
  EXPECT_EQ(fs::status(w.path() / "repo/.git/config").permissions(), fs::perms(0640));
}

// What has no mount over it: made by the host meanwhile, or too deep for the survey.
TEST_F(GuardDirectWrites, AHookGetsNoSecondName) {
  const auto hook = w.path() / "repo/.git/hooks/post-commit";
  std::ofstream(hook) << "of the host";
  const auto out = w.shell("ln repo/.git/hooks/post-commit mine; echo evil >> mine; "
                           "ln repo/.git/hooks/update.sample sample && echo linked");
  EXPECT_EQ(piorch::test::read_file(hook), "of the host");
  EXPECT_EQ(fs::hard_link_count(hook), 1u);
  EXPECT_THAT(out.refusals, HasSubstr("post-commit: git hook"));
  EXPECT_THAT(out.output, HasSubstr("linked"));
  fs::remove(hook);
}

// Put in place as Git itself does it: through the lock file, which keeps a host's Git from
// changing them at the same time. No other name.
TEST_F(GuardDirectWrites, TheHostSeesTheLockFileAndNoOtherName) {
  run("u me >> repo/.git/config");
  EXPECT_THAT(w.seen(), testing::ElementsAre("repo/.git/config", "repo/.git/config.lock"));
  EXPECT_FALSE(fs::exists(w.path() / "repo/.git/config.lock"));
}

TEST_F(GuardDirectWrites, OthersLeaveEverythingAsItWasAndAreReported) {
  for (const char* script :
       {"e >> repo/.git/config", "e > repo/.git/config", "e | tee repo/.git/config > /dev/null",
        "(u x; e) > c; cp c repo/.git/config",
        "mkdir /tmp/r; e > /tmp/r/c; cp /tmp/r/c repo/.git/config",
        "e > repo/.git/config.worktree"}) {
    EXPECT_THAT(run(script).refusals, HasSubstr("git config: core.fsmonitor")) << script;
    EXPECT_EQ(text(), before) << script;
  }
  EXPECT_THAT(run("echo [broken >> repo/.git/config").refusals, HasSubstr("(unreadable)"));
  EXPECT_THAT(run("yes '# more' | head -c 2000000 >> repo/.git/config").refusals,
              HasSubstr("too long"));
  EXPECT_EQ(text(), before);
}

// The writer's file is a copy: nothing reaches the real one but what has been checked.
TEST_F(GuardDirectWrites, WritingOnAfterTheCheckChangesNothing) {
  const auto out = run(R"sh(
    exec 3>> repo/.git/config; u first >&3; (u second) >> /proc/self/fd/3
    for i in $(seq 9999); do grep -q second repo/.git/config && break; done; e >&3)sh");
  EXPECT_EQ(text(), before + "[user]\n\tname = first\n[user]\n\tname = second\n");
  EXPECT_THAT(out.refusals, HasSubstr("core.fsmonitor"));
}

TEST_F(GuardDirectWrites, WhoStillWritesAtTheEndIsHeard) {
  EXPECT_EQ(run("exec 3>> repo/.git/config; u late >&3; sleep 100 &").refusals, "");
  EXPECT_EQ(text(), before + "[user]\n\tname = late\n");
  EXPECT_THAT(run("exec 3>> repo/.git/config; e >&3; sleep 100 &").refusals,
              HasSubstr("core.fsmonitor"));
}

// The settings are put in place while the copy becomes a repository, which renews them.
TEST_F(GuardDirectWrites, ACopiedRepositoryHasItsSettings) {
  const auto out =
      run("for i in $(seq 100); do mkdir -p copy$i/.git; cp repo/.git/config copy$i/.git; "
          "cp -r repo/.git/refs copy$i/.git; mkdir copy$i/.git/objects; done");
  EXPECT_EQ(out.refusals, "");
  for (int i = 1; i <= 100; ++i) {
    const auto config = "copy" + std::to_string(i) + "/.git/config";
    EXPECT_EQ(text(config.c_str()), before) << config;
    EXPECT_EQ(fs::status(w.path() / config).permissions(), fs::perms(0644)) << config;
  }
}

// As a write to a file that has been replaced or removed meanwhile reaches nobody.
TEST_F(GuardDirectWrites, TheOneWhoReplacesTheFileWins) {
  run("exec 3> repo/.git/config; u lost >&3; git -C repo config user.name kept; exec 3>&-");
  EXPECT_EQ(text(), before + "[user]\n\tname = kept\n");
  run("exec 3> repo/.git/config; u lost >&3; rm repo/.git/config; exec 3>&-");
  EXPECT_FALSE(fs::exists(w.path() / "repo/.git/config"));
  run("exec 3> repo/.git/config; u lost >&3; rm -rf repo; exec 3>&-; true");
  EXPECT_FALSE(fs::exists(w.path() / "repo"));
}

// As libgit2 makes a repository.
TEST_F(GuardDirectWrites, AnEmptyFileFirstAndThenItsLock) {
  EXPECT_EQ(run(R"sh(perl -MFcntl -MErrno -e '
    for (1 .. 50) {
      mkdir "n$_"; mkdir "n$_/.git"; chdir "n$_/.git"; mkdir "objects"; mkdir "refs";
      sysopen(F, "config", O_WRONLY | O_CREAT | O_TRUNC) or die $!; close F;
      sysopen(L, "config.lock", O_WRONLY | O_CREAT | O_EXCL) or die $!;
      print L "[core]\n\tbare = false\n"; close L;
      link("config.lock", "config") and die; $!{EEXIST} or die $!;
      rename("config.lock", "config") or die $!; chdir "../..";
    }')sh")
                .refusals,
            "");
  for (int n = 1; n <= 50; ++n)
    EXPECT_EQ(text(("n" + std::to_string(n) + "/.git/config").c_str()), "[core]\n\tbare = false\n");
}

TEST_F(GuardDirectWrites, RepositoriesAreCopied) {
  run("git -C repo config user.name me; git -C repo remote add origin https://example.org/x; "
      "cp -r repo copy; tar cf a.tar repo; mkdir out; tar xf a.tar -C out; cp -a repo/.git "
      "bare.git; "
      "for d in copy out/repo bare.git; do git -C $d log --oneline > /dev/null; done");
  for (const char* name : {"copy/.git/config", "out/repo/.git/config", "bare.git/config"})
    EXPECT_EQ(text(name), text()) << name;
}

TEST_F(GuardDirectWrites, ThirtyTwoAtATime) {
  const auto out = run(R"sh(perl -MFcntl -e '
    for my $i (1 .. 33) {
      if (sysopen(my $f, "repo/.git/config", O_WRONLY | O_APPEND)) { push @kept, $f }
      else { print "$i: $!\n" }
    }')sh");
  EXPECT_THAT(out.output, HasSubstr("33: Permission denied\n"));
  EXPECT_THAT(out.output, Not(HasSubstr("32: ")));
  EXPECT_THAT(out.refusals, HasSubstr("only through its lock file"));
  EXPECT_EQ(text(), before);
}

TEST_F(GuardDirectWrites, WhatIsRefusedLeavesNoEmptyFile) {
  const auto out = run(R"sh(mkdir new new/.git new/.git/objects new/.git/refs; perl -MFcntl -e '
    for (1 .. 32) { sysopen(my $f, "repo/.git/config", O_WRONLY | O_APPEND); push @kept, $f }
    sysopen(my $f, "new/.git/config", O_WRONLY | O_CREAT) or print "new: $!\n"')sh");
  EXPECT_THAT(out.output, HasSubstr("new: Permission denied\n"));
  EXPECT_FALSE(fs::exists(w.path() / "new/.git/config"));
}

// Each is in place before the next guarded call of anybody is served.
TEST_F(GuardDirectWrites, OneAfterTheOther) {
  for (int n = 1; n <= 20; ++n) {
    EXPECT_EQ(run("cd repo; u one >> .git/config; u two >> .git/config; e >> .git/config; "
                  "u three >> .git/config")
                  .refusals,
              w.path().string() + "/repo/.git/config: git config: core.fsmonitor\n");
    EXPECT_EQ(text(), before + "[user]\n\tname = one\n[user]\n\tname = two\n"
                               "[user]\n\tname = three\n");
    run("cp repo/.git/config c; head -n -6 c > repo/.git/config");
    EXPECT_EQ(text(), before);
  }
}

TEST_F(GuardDirectWrites, TheFilesOwnPermissionsCount) {
  EXPECT_THAT(run("chmod 400 repo/.git/config; u me >> repo/.git/config; true").output,
              HasSubstr("Permission denied"));
  EXPECT_EQ(text(), before);
}

TEST_F(GuardDirectWrites, TheReportSaysWhatIsTooLongOrHasItsLockInTheWay) {
  const auto said = [&](const std::string& script) {
    auto out =
        run("mkdir -p t; b() { head -c 2000000 /dev/zero | tr '\\0' x; }\n" + script).refusals;
    const auto path = w.path().string() + "/";
    return out.rfind(path, 0) == 0 ? out.substr(path.size()) : out;
  };
  EXPECT_EQ(said("b > t/.git"), "t/.git: git file: too long\n");
  EXPECT_EQ(said("b > t/f; mv t/f t/.git || :"), "t/.git: git file: too long\n");
  EXPECT_EQ(said("b > repo/.git/X_HEAD"), "repo/.git/X_HEAD: git reference: too long\n");
  EXPECT_EQ(said("b > f; mv f repo/.git/X_HEAD || :"),
            "repo/.git/X_HEAD: git reference: too long\n");
  EXPECT_EQ(said("b > repo/.git/config.lock; mv repo/.git/config.lock repo/.git/config || :"),
            "repo/.git/config: git config: too long\n");
  run("rm repo/.git/config.lock");
  const std::string in_the_way = ": not written, its lock file is in the way\n";
  EXPECT_EQ(said("touch t/.git.lock; echo gitdir: ../repo/.git > t/.git"),
            "t/.git: git file" + in_the_way);
  EXPECT_EQ(said("touch repo/.git/Y_HEAD.lock; echo ref: refs/heads/x > repo/.git/Y_HEAD"),
            "repo/.git/Y_HEAD: git reference" + in_the_way);
  EXPECT_EQ(said("rm -f repo/.git/index; touch repo/.git/index.lock; "
                 "GIT_INDEX_FILE=$PWD/i git -C repo read-tree HEAD; cat i > repo/.git/index"),
            "repo/.git/index: git index" + in_the_way);
  EXPECT_EQ(said("touch repo/.git/config.lock; u x >> repo/.git/config"),
            "repo/.git/config: git config" + in_the_way);
}

// On network file systems and the like the copies are in memory.
TEST_F(GuardDirectWrites, WhereNoFileIsWithoutAName) {
  const auto kind = workspace::guard::no_nameless_files;
  EXPECT_EQ(run(R"sh(perl -MFcntl -e 'sysopen(F, ".", O_RDWR | 020200000) and die; print "$!\n"' &&
    for i in $(seq 20); do u $i >> repo/.git/config; u last$i >> repo/.git/config; done)sh",
                kind)
                .refusals,
            "");
  std::string all = before;
  for (int i = 1; i <= 20; ++i)
    for (const char* name : {"", "last"})
      all += "[user]\n\tname = " + (name + std::to_string(i)) + "\n";
  EXPECT_EQ(text(), all);
  EXPECT_THAT(run("e >> repo/.git/config", kind).refusals, HasSubstr("core.fsmonitor"));
  EXPECT_EQ(text(), all);
  const auto out = run(R"sh(set -e; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@example.org
    export GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@example.org; git clone -q repo copy; cd copy
    echo 1 > a; git add a; git commit -qm 1; git checkout -qb side; echo 2 > a; git commit -qam 2
    git checkout -q master; echo 3 > a; git commit -qam 3; git merge side && exit 1; git merge --abort
    git cherry-pick side && exit 1; git cherry-pick --abort; git worktree add -q ../other side
    (cd ../other; git status; echo b > b; git add b; git commit -qm b)
    git -c protocol.file.allow=always submodule --quiet add "$PWD/../repo" module
    git commit -qm module; git -C module log -1; git worktree list; cp -r ../repo ../third
    perl -e 'open F, ">", "../third/.git/X_HEAD" or die $!; my @s = stat F; print F "0" x 50;
      chmod 0640, "/proc/self/fd/" . fileno F or die $!; seek F, 0, 0; truncate F, 40 or die $!;
      printf "%d links, %o\n", $s[3], $s[2]')sh",
                       kind);
  EXPECT_EQ(out.refusals, "");
  EXPECT_THAT(out.output, HasSubstr("0 links, 100600"));
  EXPECT_EQ(text("third/.git/X_HEAD"), std::string(40, '0'));
  EXPECT_EQ(text("other/b"), "b\n");
  EXPECT_EQ(text("copy/module/.git"), "gitdir: ../.git/modules/module\n");
}

// One after the other, each is put in place before there are too many; nobody waits in vain for
// who has closed a file already.
TEST_F(GuardDirectWrites, ManyReferencesAndStateThatWasJustWritten) {
  run(R"sh(cd repo; for i in $(seq 300); do git update-ref refs/heads/b$i HEAD; done; cd ..
    cp -r repo one & tar cf - repo | (mkdir two; tar xf - -C two) & cp -a repo three & wait)sh");
  for (const char* copy : {"one", "two/repo", "three"})
    for (int i = 1; i <= 300; ++i)
      EXPECT_EQ(text((std::string(copy) + "/.git/refs/heads/b" + std::to_string(i)).c_str()),
                text("repo/.git/refs/heads/b1"))
          << copy << " " << i;
  const auto out = run(R"sh(perl -e '
    for my $i (1 .. 60) {
      mkdir "m$i"; mkdir "m$i/refs"; open my $f, ">", "m$i/HEAD"; print $f "ref: refs/heads/x\n"; close $f;
      mkdir "m$i/objects" or print "$i: $!\n" }')sh");
  EXPECT_EQ(out.refusals, "");
  EXPECT_EQ(out.output, "finished: 0\n");
}
