// Git under the create guard: ordinary work goes on, and the host's Git runs and follows nothing
// that a command has left.
#include "tests/e2e/guarded_exec.hpp"

namespace piorch::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST_F(GuardedExec, ARepositoryIsProtectedFromItsFirstMoment) {
  const auto r = in_sandbox(R"sh(
    git init -q . || exit 1
    git config core.fsmonitor ./evil && echo planted; git config user.name me || echo no
    echo x > .git/hooks/pre-commit && echo planted; echo x > .git/commondir && echo planted
    printf '[core]\n\tfsmonitor = ./evil\n' >> .git/config; mv .git elsewhere && echo moved
    echo a > a; git add a; git commit -qm first && git log --format=%s)sh");
  EXPECT_EQ(r.out, "first\n") << r.err;
  EXPECT_THAT(refusals(), AllOf(Contains(".git/config: git config: core.fsmonitor"),
                                Contains(HasSubstr(".git/hooks/pre-commit: ")),
                                Contains(HasSubstr(".git/commondir: "))));
  EXPECT_EQ(test::read_file(app / ".git/config").find("evil"), std::string::npos);
  const auto later = in_sandbox("git -C . config alias.x '!sh'; git config core.sshCommand sh; "
                                "git config branch.main.description text && echo harmless");
  EXPECT_EQ(later.out, "harmless\n") << later.err;
  EXPECT_THAT(refusals(), AllOf(Contains(".git/config: git config: alias.x"),
                                Contains(".git/config: git config: core.sshcommand")));
}

TEST_F(GuardedExec, GitWorks) {
  expect_works(R"sh(
    git init -q; echo a > a; git add a src; git commit -qm a
    git remote add origin https://example.org/a; git remote set-url origin https://example.org/b
    test "$(git remote get-url origin)" = https://example.org/b
    git clone -q . copy; git -C copy commit -q --allow-empty -m b; git -C copy push -q origin HEAD:up
    git worktree add -q -b topic tree; echo t > tree/t; git -C tree add t; git -C tree commit -qm t
    git rebase -q topic; git stash list; echo c >> a; git stash -q; git stash pop -q; git commit -qam c
    git -C copy -c protocol.file.allow=always fetch -q "$PWD"; git gc -q; git fsck --no-progress
    git worktree remove tree; git status --short > /dev/null)sh");
  expect_works(R"sh(
    git -C copy remote remove origin; git branch -D topic -q; mkdir outer; cd outer; git init -q
    git -c protocol.file.allow=always clone -q ../copy library; git -C library config user.name me)sh");
}

// The host's Git would fetch what is missing, past the rules of the network, from any address.
TEST_F(GuardedExec, TheHostsGitIsNotMadeToFetchWhatIsMissing) {
  const auto r = in_sandbox(R"sh(
    git init -q; git config uploadpack.allowFilter true 2>/dev/null; echo a > a; git add a; git commit -qm a
    git remote add o "$PWD/elsewhere"; git config remote.o.promisor true && echo planted
    git config extensions.partialClone o && echo planted
    git clone -q --filter=blob:none "file://$PWD" copy && echo planted; git clone -q . other && echo cloned)sh");
  EXPECT_EQ(r.out, "cloned\n") << r.err;
  EXPECT_THAT(refusals(), AllOf(Contains(".git/config: git config: remote.o.promisor"),
                                Contains(".git/config: git config: extensions.partialclone"),
                                Contains("copy/.git/config: git config: remote.origin.promisor")));

  // A partial clone of the host's is worked with, but its remote stays where it was.
  home.write("app/other/.git/config", test::read_file(app / "other/.git/config") +
                                          "[remote \"origin\"]\n\tpromisor = true\n"
                                          "[extensions]\n\tworktreeConfig = true\n");
  const auto later = in_sandbox(R"sh(
    cd other; git remote set-url origin https://example.org/x && echo planted
    git config --worktree remote.origin.url https://example.org/x && echo planted
    git config --unset remote.origin.url && echo planted
    git config user.name me && git remote add up https://example.org/y && echo worked
    git remote remove origin && echo removed)sh");
  EXPECT_EQ(later.out, "worked\nremoved\n") << later.err;
  EXPECT_THAT(refusals(),
              AllOf(Contains("other/.git/config: git config: remote.origin.url"),
                    Contains("other/.git/config.worktree: git config: remote.origin.url")));
}

// What one command has made, the next one can remove: nothing of it is mounted.
TEST_F(GuardedExec, RepositoriesWorkTreesAndSubmodulesCanBeRemoved) {
  expect_works(R"sh(
    git init -q; git add src; git commit -qm a; git init -q library
    git -C library commit -q --allow-empty -m l; git clone -q . copy; git clone -q . other
    git worktree add -q tree; git worktree add -q gone; git -C copy worktree add -q ../third
    cd other; git -c protocol.file.allow=always submodule --quiet add "$PWD/../library" module
    git commit -qm module)sh");
  home.write("app/copy/.git/hooks/post-checkout.sample", "# text\n");
  expect_works(R"sh(
    echo x > tree/x; git -C tree add x; git -C tree commit -qm x; git worktree remove tree
    test ! -e tree; test ! -e .git/worktrees/tree; git worktree add -q tree; rm -rf gone
    git worktree prune; test ! -e .git/worktrees/gone; git -C copy worktree remove third
    git -C other submodule --quiet deinit -f module; git -C other rm -q module
    rm -rf other/.git/modules/module; rm -rf other copy; git clone -q . copy)sh");
  // Moving and rewriting stay refused, and so does removing what the host's Git would run.
  home.write("app/copy/.git/hooks/pre-commit", "#!/bin/sh\n");
  const auto r = in_sandbox(R"sh(
    mv copy moved && echo moved; mv copy/.git g && echo moved; mv copy/.git/hooks h && echo moved
    (echo 'gitdir: /x' > tree/.git) 2>/dev/null && echo written; mv copy/.git/config tree/.git && echo moved
    (echo /x > .git/worktrees/tree/gitdir) 2>/dev/null && echo written
    (echo x > .git/worktrees/tree/commondir) 2>/dev/null && echo written
    (echo x > copy/.git/hooks/pre-push) 2>/dev/null && echo written; rm -rf copy/.git/hooks && echo gone
    ln -s /x copy/.git/hooks/post-merge && echo made; chmod +x copy/.git/hooks/pre-commit && echo on)sh");
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(fs::exists(app / "copy/.git/hooks/pre-commit"));
  EXPECT_EQ(test::read_file(app / "tree/.git"),
            "gitdir: " + app.string() + "/.git/worktrees/tree\n");
}

// The temporary directory is no way around: the same holds there, and again on the way back.
TEST_F(GuardedExec, RepositoriesFromTheTemporaryDirectory) {
  const auto r = in_sandbox(R"sh(
    evil() { printf '[core]\n\tfsmonitor = evil\n'; }
    cd "$TMPDIR"; git init -q good; git -C good config user.name me; git -C good commit -q --allow-empty -m x
    mkdir -p plain/x; evil > plain/config; evil > plain/x/config; mkdir plain/objects
    mkdir plain/refs 2>/dev/null && echo became; evil >> good/.git/config
    cd - > /dev/null; mv "$TMPDIR/good" .; mv "$TMPDIR/plain" made; mkdir made/refs 2>/dev/null && echo became
    cp -r good copy
    for i in $(seq 9999); do grep -q me copy/.git/config && break; done # put in place after cp's close
    cat made/config > copy/.git/config; mv made/config copy/.git/config 2>/dev/null && echo moved
    git -C good log --format=%s; git -C copy config user.name)sh");
  EXPECT_EQ(r.out, "x\nme\n") << r.err;
  for (const char* name : {"good/.git/config", "copy/.git/config"}) {
    EXPECT_THAT(test::read_file(app / name), HasSubstr("name = me")) << name;
    EXPECT_EQ(test::read_file(app / name).find("evil"), std::string::npos) << name;
  }
  EXPECT_THAT(refusals(), Contains("copy/.git/config: git config: core.fsmonitor"));
}

// What Git writes by name, it would write through a link; at a pipe it would wait for ever.
TEST_F(GuardedExec, InAGitDirectoryOnlyFilesAndDirectoriesComeIntoBeing) {
  expect_works(R"sh(
    git init -q . && test -z "$(git config core.symlinks)" # it tries a link, which leads nowhere else
    git commit -q --allow-empty -m x; mkdir real; ln -s real link; test -L link)sh");
  const auto r = in_sandbox(R"sh(
    rm -f .git/COMMIT_EDITMSG; ln -s "$HOME/notes" .git/COMMIT_EDITMSG && echo made
    ln -sf "$HOME/notes" .git/logs/HEAD && echo made; ln -s ../../../notes .git/FETCH_HEAD && echo made
    ln -s config .git/MERGE_MSG && echo made
    mkdir l; ln -s "$HOME/notes" l/HEAD; mv .git/logs .git/old; mv l .git/logs; test -L .git/logs/HEAD && echo moved
    rm .git/HEAD; mkfifo .git/HEAD && echo pipe; mkfifo real/.gitignore && echo pipe
    mkfifo p; mv p real/.gitignore && echo moved; ln p real/.gitattributes && echo linked)sh");
  EXPECT_EQ(r.out, "") << r.err;
  EXPECT_THAT(refusals(), Contains(HasSubstr(".git/COMMIT_EDITMSG: only files and directories")));
}

// However deep what is looked through.
TEST_F(GuardedExec, ADeepTreeThatBecomesARepositoryEndsNothing) {
  const auto r = in_sandbox(R"sh(
    for levels in 40 62 80; do
      mkdir -p b$levels/objects; deep=b$levels
      for i in $(seq $levels); do deep=$deep/x; done
      mkdir -p $deep; mkdir b$levels/refs 2>/dev/null; echo alive
    done)sh");
  EXPECT_EQ(r.out, "alive\nalive\nalive\n") << r.err;
  EXPECT_EQ(r.status, 0);
}

// A work tree inside of its bare repository is a work tree; the repository stays one.
TEST_F(GuardedExec, AWorkTreeInABareRepository) {
  fs::remove_all(app);
  const std::string made = "cd '" + home.path().string() + R"sh(' && git init -q first &&
    git -C first -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m first &&
    git clone -q --bare first there.git && git -C there.git worktree add -q app && mkdir -p there.git/logs &&
    ln -s there.git/app app)sh";
  ASSERT_EQ(std::system(made.c_str()), 0);
  app = home.path() / "there.git/app";
  expect_works(R"sh(
    mkdir -p node_modules/.bin; ln -s ../x/cli.js node_modules/.bin/x; ln -s /usr/bin/env env; mkfifo pipe
    echo y >y; git add y env node_modules; git commit -qm second; git log --format=%s)sh");
  const auto r = in_sandbox(R"sh(
    for at in .. ../worktrees/app; do
      for name in logs/HEAD logs/x COMMIT_EDITMSG; do
        ln -sf "$HOME/notes" $at/$name 2>/dev/null; test -L $at/$name && echo $at/$name
      done
    done; true)sh");
  EXPECT_EQ(r.out, "") << r.err;
}

// The root's .gitmodules is protected; a repository below has its own.
TEST_F(GuardedExec, Submodules) {
  expect_works(R"sh(
    git init -q library; git -C library commit -q --allow-empty -m l
    git init -q super; cd super
    git -c protocol.file.allow=always submodule --quiet add "$PWD/../library" module
    git commit -qm module; cd ..; git clone -q super second
    git -C second -c protocol.file.allow=always submodule --quiet update --init
    test -e second/module/.git)sh");
}

// What a `.git` file leads through stays free of links, also when it was made by an earlier command
// and nothing is there.
TEST_F(GuardedExec, AGitFileLeadsNowhereElseLater) {
  expect_works(R"sh(
    mkdir -p tree other d; echo 'gitdir: ../d/e.git' > tree/.git
    git init -q --separate-git-dir g.git other; rm -rf g.git d
    git init -q sub; git -C sub commit -q --allow-empty -m s; git -C sub worktree add -q ../linked
    mv sub moved; mkdir sub; mv moved/.git sub; git -C linked log -1 > /dev/null)sh");
  const auto r = in_sandbox(R"sh(
    ln -s /etc d && echo made; ln -s /etc g.git && echo made; mkdir x; ln -s /etc x/e.git
    mv x d && echo moved; mv sub m && echo moved; rm -rf sub; ln -s /etc sub && echo made
    (echo 'gitdir: /etc' > tree/.git) 2>/dev/null && echo written
    mkdir d; mkdir d/e.git; git init -q sub; echo finished)sh");
  EXPECT_EQ(r.out, "finished\n") << r.err;
  EXPECT_EQ(test::read_file(app / "tree/.git"), "gitdir: " + (app / "d/e.git").string() + "\n");
  EXPECT_THAT(refusals(), Contains(HasSubstr("d: leads to a protected path")));
}

// As Git reads the text: what it takes for a part of the path is one.
TEST_F(GuardedExec, ABlankAtTheEndOfAGitFileIsPartOfItsPath) {
  expect_works(R"sh(
    mkdir -p tree other more; printf 'gitdir: ../x \n' > tree/.git
    printf 'gitdir: ../d/y\t' > other/.git; printf 'gitdir:  z\n' > more/.git)sh");
  const auto r = in_sandbox(R"sh(
    ln -s /etc 'x ' && echo made; mkdir d; ln -s /etc d/y$'\t' && echo made; ln -s /etc 'more/ z' && echo made
    ln -s /etc x && ln -s /etc d/y && ln -s /etc more/z && echo others)sh");
  EXPECT_EQ(r.out, "others\n") << r.err;
}

// A Git directory of a command's own is none any more when it has taken `objects` away.
TEST_F(GuardedExec, AGitFileThroughWhatIsNoGitDirectoryLater) {
  expect_works(R"sh(
    git init -q --separate-git-dir g.git first; mkdir second third; git config -f g.git/config user.name me
    echo "gitdir: $PWD/g.git/hooks/x.sample" > second/.git; rm -rf g.git/hooks/*; mkdir -p g.git/hooks
    echo "gitdir: $PWD/g.git/hooks" > third/.git; echo x > g.git/hooks/y.sample)sh");
  const auto r = in_sandbox(R"sh(
    rm -rf g.git/objects; ln -s /etc g.git/hooks/x.sample && echo made
    rm -rf g.git/hooks; ln -s /etc g.git/hooks && echo made; mkdir g.git/hooks && echo directory)sh");
  EXPECT_EQ(r.out, "directory\n") << r.err;
}

// The host's own, as what it leads to was made by somebody who works with links.
TEST_F(GuardedExec, ADotGitThatIsALinkLeadsNowhereElse) {
  expect_works("git init -q repo; git init -q --bare bare; mkdir one two");
  home.write("app/pointers/file", "gitdir: ../repo/.git\n");
  fs::create_symlink("../pointers/file", app / "one/.git");
  fs::create_symlink("../bare", app / "two/.git");
  const auto r = in_sandbox(R"sh(
    (echo 'gitdir: /etc' > pointers/file) 2>/dev/null && echo written
    mv pointers p && echo moved; mkdir more; echo 'gitdir: /etc' > more/file; mv more/file pointers/file && echo moved
    rm -f pointers/file; ln -s /etc pointers/file && echo made; mv bare b && echo moved; mv repo r && echo moved
    rm -rf bare; ln -s /etc bare && echo made; rm -rf repo; ln -s /etc repo && echo made; echo finished)sh");
  EXPECT_EQ(r.out, "finished\n") << r.err;
  EXPECT_EQ(test::read_file(app / "pointers/file"), "gitdir: ../repo/.git\n");
}

// Such ones are not put in place; the host's own stop the next command, with a word about them.
TEST_F(GuardedExec, AGitFileOfTooManyNames) {
  std::string many = "gitdir: ";
  for (int i = 0; i < 2000; ++i)
    many += "src/";
  home.write("app/tree/.git", many);
  const auto r = in_sandbox("echo ran");
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, AllOf(HasSubstr("app/tree/.git has a path of more than 64 names"),
                           HasSubstr("remove the file")));
  fs::remove(app / "tree/.git");
  const auto later = in_sandbox(R"sh(
    for i in $(seq 20); do mkdir d$i; printf 'gitdir: %s' "$(printf 'src/%.0s' $(seq 2000))" > d$i/.git; done)sh");
  EXPECT_THAT(refusals(),
              Contains("d7/.git: git file: its path has more than 64 names, or is too long"));
  EXPECT_EQ(in_sandbox("echo ran").out, "ran\n") << later.err;
}

// Git reads each of its `.git` files back, some at once and some before there is what they name.
TEST_F(GuardedExec, GitFilesOfEveryKind) {
  expect_works(R"sh(
    git init -q; git commit -q --allow-empty -m a; git init -q library
    git -C library commit -q --allow-empty -m l; git init -q super; git -C super commit -q --allow-empty -m s
    for i in $(seq 20); do
      git worktree add -q tree$i; git -C super worktree add -q ../other$i; echo x > tree$i/x
      git -C tree$i add x; git -C tree$i commit -qm x; git worktree list | grep -q tree$i
      git worktree move tree$i moved$i; git -C moved$i status --short > /dev/null
      git -C super worktree move ../other$i sub$i; git -C super/sub$i log -1 > /dev/null
      mv super/sub$i super/by-hand; git -C super worktree repair by-hand 2>/dev/null
      git -C super/by-hand log -1 > /dev/null; git -C super worktree remove by-hand
      git worktree remove moved$i; test ! -e moved$i
      git -C super -c protocol.file.allow=always submodule --quiet add "$PWD/library" deep/module$i
      git -C super commit -qm $i
      git init -q --separate-git-dir init$i.git init$i; git -C init$i commit -q --allow-empty -m i
      git init -q --separate-git-dir again$i.git init$i; git -C init$i log -1 > /dev/null
      git clone -q --separate-git-dir clone$i.git super clone$i; git -C clone$i log -1 > /dev/null
    done
    git clone -q super second; git -C second -c protocol.file.allow=always submodule --quiet update --init
    mv second third; test $(git -C third submodule status | wc -l) = 20
    test "$(cat third/deep/module7/.git)" = 'gitdir: ../../.git/modules/deep/module7'
    git -C third/deep/module7 log -1 > /dev/null
    cd "$TMPDIR"; git clone -q "$OLDPWD/super" s
    git -C s -c protocol.file.allow=always submodule --quiet update --init; git -C s/deep/module1 log -1 > /dev/null
    git init -q --separate-git-dir i.git i; git -C s worktree add -q ../t)sh");
}

} // namespace
} // namespace piorch::cli
