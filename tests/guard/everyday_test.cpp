// Ordinary work goes on under the guard, and the host sees no name that the command did
// not make itself.
#include "tests/guard/workspace.hpp"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/inotify.h>
#include <unistd.h>

using piorch::test::workspace;

namespace {

void expect_works(const char* script) {
  const workspace w;
  const auto out =
      w.shell(std::string("set -e; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@example.org "
                          "GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@example.org\n") +
              script + "\necho finished");
  EXPECT_EQ(out.status, 0) << script << "\n" << out.output;
  EXPECT_NE(out.output.find("finished"), std::string::npos);
  EXPECT_EQ(w.planted(), "");
}

// A test whose program is missing is a failure where everything must be tested.
bool has(const char* program) {
  if (std::system((std::string("command -v ") + program + " >/dev/null 2>&1").c_str()) == 0)
    return true;
  if (std::getenv("PIORCH_MUST_WORK"))
    ADD_FAILURE() << program << " is missing (tools/ci/packages-test)";
  return false;
}

} // namespace

TEST(GuardEveryday, GitInAnExistingRepository) {
  expect_works(R"sh(
    cd repo; echo a > a; git add a; git commit -qm a; git checkout -qb topic; echo b > b; git add b
    git commit -qm b; git config user.name me; git config branch.topic.description text
    git remote add origin ../other; git remote set-url origin https://example.org/x.git
    git branch --set-upstream-to=master topic; git checkout -q master; echo c > c; git add c
    git commit -qm c; git rebase -q topic; git stash list; echo d >> a; git stash -q; git stash pop -q
    git commit -qam d; git tag v1; git gc -q; git fsck --no-progress; git log --oneline | wc -l
    git config --unset branch.topic.description; git remote remove origin; git mv a renamed
    git commit -qm renamed; git bundle create ../b.bundle master)sh");
}

// Each merge writes .git/AUTO_MERGE anew, directly.
TEST(GuardEveryday, SeveralMergesInARow) {
  expect_works(R"sh(
    cd repo; git checkout -qb topic
    for n in 1 2 3; do echo $n > f$n; git add f$n; git commit -qm $n; done
    git checkout -q master; git cherry-pick topic~2 topic~1 topic; git revert --no-edit HEAD HEAD~1
    for n in 5 6; do echo $n > s$n; git add s$n; git stash -q; done; git stash pop -q; git stash pop -q
    git commit -qm s; git rebase -q --force-rebase HEAD~3; cat s5 s6; git status --short)sh");
}

TEST(GuardEveryday, GitMakesRepositoriesOfEveryKind) {
  expect_works(R"sh(
    git init -q; test -d .git/hooks; git commit -q --allow-empty -m x
    git init -q nested; git init -q --bare bare.git; git init -q --bare --object-format=sha256 s.git
    git clone -q repo copy; git -C copy commit -q --allow-empty -m y; git -C copy fetch -q
    git clone -q --bare repo mirror.git; git -C copy push -q ../mirror.git HEAD:refs/heads/pushed
    git -C repo worktree add -q ../tree; cd tree; echo f > f; git add f; git commit -qm f
    git rev-parse --git-common-dir; git status --short; cd ..
    git -C repo worktree list; git -C repo worktree remove tree
    git -C copy -c protocol.file.allow=always submodule --quiet add "$PWD/repo" module
    git -C copy commit -qm module; git -C copy submodule status; git -C copy/module config user.name x
    git clone -q copy second
    git -C second -c protocol.file.allow=always submodule --quiet update --init)sh");
}

// How an index is read is said by the settings, and stays so once there is an index.
TEST(GuardEveryday, ARepositoryHasItsObjectFormatFromItsBeginning) {
  expect_works(R"sh(
    git init -q --object-format=sha256 s; cd s; echo a > a; mkdir d; echo b > d/b; git add .
    git commit -qm x; git worktree add -q ../t; (cd ../t; echo c > c; git add c; git commit -qm y)
    cd ..; git clone -q s c; git -C c status; cd c; echo e > e; git add e; git commit -qm z; git fsck
    test "$(git rev-parse --show-object-format)" = sha256; git config core.abbrev 9; cd ..
    test "$(git -C c status --short)" = ""; cp -r c copy; git -C copy log > /dev/null
    git -C repo commit -q --allow-empty -m x; GIT_DEFAULT_HASH=sha256 git clone -q repo c1
    test "$(git -C c1 rev-parse --show-object-format)" = sha1; echo f > c1/f; git -C c1 add f)sh");
}

TEST(GuardEveryday, AnIndexIsNotMadeOneOfAnotherFormat) {
  const workspace w;
  const auto out = w.shell(R"sh(
    cd repo; git config core.repositoryformatversion 1; echo a > a; git add a
    git worktree add -q ../tree
    f() { git config -f .git/config extensions.objectFormat $1 && echo "$2 took $1"; }
    f sha256 with; f SHA256 with; f sha1 with; f sha256 with; cp .git/index index; rm .git/index
    f sha256 with; rm .git/worktrees/tree/index; f sha256 without
    mv index .git/index || echo no index; git config --unset extensions.objectFormat
    mv index .git/index && git status --short)sh");
  EXPECT_EQ(out.output.find("with took sha256"), std::string::npos) << out.output;
  EXPECT_EQ(out.output.find("with took SHA256"), std::string::npos) << out.output;
  EXPECT_NE(out.output.find("with took sha1"), std::string::npos) << out.output;
  EXPECT_NE(out.output.find("without took sha256"), std::string::npos) << out.output;
  EXPECT_NE(out.output.find("no index"), std::string::npos) << out.output;
  EXPECT_NE(out.output.find("A  a\n"), std::string::npos) << out.output;
  EXPECT_NE(out.refusals.find("git config: extensions.objectformat"), std::string::npos);
}

// As a Git writes them that nobody watches.
TEST(GuardEveryday, ReferencesOfEveryKind) {
  const workspace w;
  const auto out = w.shell(R"sh(
    export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@example.org GIT_EDITOR=true
    export GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@example.org; exec 3>&1 > /dev/null 2>&1
    cd repo; c() { echo $1 > $2; git add $2; git commit -qm "$1 $2"; }
    id() { echo "$1 is $(git rev-parse -q --verify $1)" >&3; }
    c 1 a; c 1 b; git branch one; git branch two; c 2 a; git checkout -q one; c 3 a; c 3 b
    git cherry-pick master; id CHERRY_PICK_HEAD; git cherry-pick --abort
    git merge -q master; id MERGE_HEAD; id AUTO_MERGE; echo 4 > a; git add a; git commit -qm m
    git checkout -q two; c 5 a; c 6 a; git revert --no-edit HEAD~1; id REVERT_HEAD
    git revert --abort; git rebase master; id REBASE_HEAD; echo 6 > a
    git add a; git rebase --continue; git rebase --abort; git checkout -q one; git rebase --rebase-merges HEAD~2
    git rebase --abort; echo 7 > b; git stash -q; git stash pop -q; git stash -q; id ORIG_HEAD; id stash
    git checkout -q master; git bisect start; git bisect bad; git bisect good one~2
    id BISECT_EXPECTED_REV; git bisect reset; git notes add -m x
    git update-ref refs/notes/o refs/notes/commits; git notes add -f -m y; git notes --ref o append -m z
    git notes merge -s manual o; id NOTES_MERGE_PARTIAL; git notes merge --abort
    git fetch -q . one two; git pull -q --no-rebase . two; id FETCH_HEAD
    git remote add r .; git fetch -q r; git remote set-head r master; id r/HEAD)sh");
  EXPECT_EQ(out.refusals, "");
  for (const char* name :
       {"CHERRY_PICK_HEAD", "MERGE_HEAD", "AUTO_MERGE", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD",
        "stash", "BISECT_EXPECTED_REV", "NOTES_MERGE_PARTIAL", "FETCH_HEAD", "r/HEAD"})
    EXPECT_THAT(out.output, testing::ContainsRegex(std::string(name) + " is [0-9a-f]{40}\n"));
  EXPECT_EQ(w.planted(), "");
}

// Resolutions of conflicts are neither recorded nor is a list of them kept.
TEST(GuardEveryday, MergesWithConflictsWhereResolutionsWouldBeReused) {
  for (const char* enabled : {"true", "false"}) {
    const workspace w;
    const auto out = w.shell(std::string("on=") + enabled + R"sh(; set -e; cd repo
      git config user.name n; git config user.email e@example.org; git config rerere.enabled $on
      echo 1 > a; git add a; git commit -qm 1; git branch side; echo 2 > a; git commit -qam 2
      git checkout -q side; echo 3 > a; git commit -qam 3; e=0; git merge master || e=$?
      test $e = 1; grep -q '^<<<<<<<' a; if [ $on = true ]; then test -e .git/MERGE_RR; fi
      test ! -s .git/MERGE_RR; git rerere status; git rerere diff; echo 4 > a; git add a
      git commit -qm 4; git reset -q --hard HEAD~1; e=0; git merge -q master || e=$?; test $e = 1
      grep -q '^<<<<<<<' a; git rerere; git merge --abort; e=0; git rebase master || e=$?
      test $e = 1; echo 5 > a; git add a; GIT_EDITOR=true git rebase --continue; git rerere gc
      git status --short; echo finished)sh");
    EXPECT_NE(out.output.find("finished"), std::string::npos) << out.output;
    EXPECT_EQ(out.refusals, "") << enabled;
    EXPECT_EQ(w.planted(), "");
  }
}

// What the host has recorded is used, and what it is about to record stays as it is.
TEST(GuardEveryday, TheHostsResolutionsAreUsed) {
  const workspace w;
  const std::string host = "cd '" + w.path().string() + R"sh('/repo; exec > /dev/null 2>&1
      git config user.name n; git config user.email e@example.org; git config rerere.enabled true
      echo 1 > a; git add a; git commit -qm 1; git branch side; echo 2 > a; git commit -qam 2
      git checkout -q side; echo 3 > a; git commit -qam 3; git merge master; echo solved > a
      git commit -qam 4; git reset -q --hard HEAD~1; test -e .git/rr-cache/*/postimage)sh";
  ASSERT_EQ(std::system(host.c_str()), 0);
  const auto out = w.shell("cd repo; git merge master; cat a; echo x >> .git/rr-cache/*/postimage; "
                           "cp .git/rr-cache/*/postimage p; mv p .git/rr-cache/*/postimage");
  EXPECT_NE(out.output.find("\nsolved\n"), std::string::npos) << out.output;
  EXPECT_NE(out.refusals.find("git rerere: a resolution that the host's Git would write"),
            std::string::npos);
  EXPECT_EQ(std::system(("cd '" + w.path().string() +
                         "/repo' && test \"$(cat .git/rr-cache/*/postimage)\" = solved")
                            .c_str()),
            0);
}

TEST(GuardEveryday, ArchivesEditorsAndShells) {
  expect_works(R"sh(
    mkdir -p t/u; for i in $(seq 200); do echo $i > t/u/f$i; done; ln -s u t/l; ln t/u/f1 t/hard
    tar cf t.tar t; mkdir out; tar xf t.tar -C out; diff -r t out/t; cp -a t copy; rm -rf t
    sed -i s/1/2/ copy/u/f1; mv copy/u copy/v; (umask 077; mkdir private; touch private/f)
    test "$(stat -c %a private private/f | xargs)" = "700 600"; cat <(echo x) > p
    test "$(cat p)" = x; (flock 9; echo locked > l) 9> lock
    mkfifo f; cat f > got & echo through > f; wait; test "$(cat got)" = through
    exec 3<> p; echo y >&3; dd if=/dev/zero of=z bs=1k count=9 2> /dev/null
    truncate -s 5 z; test "$(stat -c %s z)" = 5; install -m 600 p q)sh");
}

TEST(GuardEveryday, Builds) {
  if (!has("cmake") || !has("make"))
    GTEST_SKIP();
  expect_works(R"sh(
    mkdir s; for i in $(seq 8); do echo "int f$i(){return 0;}" > s/f$i.c; done
    echo 'int main(){return 0;}' > s/m.c
    printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfile(GLOB s *.c)\nadd_executable(p ${s})\n' > s/CMakeLists.txt
    cmake -S s -B b > /dev/null; make -s -C b -j8 > /dev/null; ./b/p)sh");
}

TEST(GuardEveryday, Databases) {
  if (!has("sqlite3"))
    GTEST_SKIP();
  expect_works(R"sh(
    sqlite3 d 'pragma journal_mode=wal; create table t(a);' > /dev/null
    for w in 1 2 3 4; do
      (for i in $(seq 40); do sqlite3 -cmd '.timeout 20000' d "insert into t values($i)";
               done) &
      done;
  wait; test "$(sqlite3 d 'select count(*) from t')" = 160)sh");
}

TEST(GuardEveryday, Interpreters) {
  if (has("/usr/bin/python3"))
    expect_works(R"sh(
      /usr/bin/python3 -c 'import multiprocessing as m, tempfile, os
with tempfile.TemporaryDirectory(dir=".") as d: open(d + "/x", "w").write("y")
q = m.Pipe(); os.symlink("a", "b"); os.replace("b", "c"); os.makedirs("x/y/z")')sh");
  if (has("node"))
    expect_works(R"sh(
      node -e 'const fs=require("fs");fs.mkdirSync("a/b",{recursive:true});
        fs.writeFileSync("a/b/c","x");fs.cpSync("a","d",{recursive:true});fs.renameSync("d","e");
        fs.promises.appendFile("e/b/c","y").then(()=>process.exit(fs.readFileSync("e/b/c")=="xy"?0:1))')sh");
}

// With a dependency that cargo clones by its own Git library, which writes settings directly.
TEST(GuardEveryday, Rust) {
  if (!has("/usr/bin/cargo") || !has("/usr/bin/cc"))
    GTEST_SKIP();
  expect_works(R"sh(
    export PATH=/usr/bin:$PATH CARGO_HOME=$PWD/ch CARGO_NET_GIT_FETCH_WITH_CLI=false
    crate() { mkdir -p $1/src; printf '[package]\nname = "%s"\nversion = "0.1.0"\n[dependencies]\n' $1 > $1/Cargo.toml; }
    crate cloned; echo 'pub fn two() -> i32 { 2 }' > cloned/src/lib.rs; git -C cloned init -q
    git -C cloned add .; git -C cloned commit -qm x
    crate beside; echo 'pub fn forty() -> i32 { 40 }' > beside/src/lib.rs; crate app
    echo 'fn main() { println!("{}", beside::forty() + cloned::two()); }' > app/src/main.rs
    printf 'beside = { path = "../beside" }\ncloned = { git = "file://%s/cloned" }\n' $PWD >> app/Cargo.toml
    cd app; cargo build -q; test "$(./target/debug/app)" = 42; touch src/main.rs; cargo build -q --offline
    cargo clean -q; grep -q bare ../ch/git/db/cloned-*/config; rm -rf ../ch)sh");
}

TEST(GuardEveryday, Go) {
  if (!has("go"))
    GTEST_SKIP();
  expect_works(R"sh(
    export GOCACHE=$PWD/gc GOPATH=$PWD/gp GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod
    mkdir -p app/part; cd app; printf 'module example.org/app\n\ngo 1.19\n' > go.mod
    printf 'package part\n\nfunc Answer() int { return 42 }\n' > part/part.go
    printf 'package part\n\nimport "testing"\n\nfunc TestAnswer(t *testing.T) { if Answer() != 42 { t.Fail() } }\n' > part/part_test.go
    printf 'package main\n\nimport "example.org/app/part"\n\nfunc main() { println(part.Answer()) }\n' > main.go
    go build .; test "$(./app 2>&1)" = 42; go vet ./...; go test ./... > /dev/null)sh");
}

TEST(GuardEveryday, DebuggersOfOwnChildren) {
  if (has("strace"))
    expect_works("strace -f -o log -e trace=openat sh -c 'echo x > y'; grep -q y log");
  if (has("gdb"))
    expect_works("gdb -q -batch -ex run --args /bin/sh -c 'echo x > y' > log 2>&1; grep -q "
                 "'exited normally' log; test -s y");
}

TEST(GuardEveryday, TheHostSeesNoNameThatTheCommandDidNotMake) {
  const workspace w;
  const int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ASSERT_GE(::inotify_add_watch(watch, w.path().c_str(), IN_CREATE | IN_MOVED_TO), 0);
  ASSERT_GE(::inotify_add_watch(watch, (w.path() / "repo/.git").c_str(), IN_CREATE | IN_MOVED_TO),
            0);
  const auto out =
      w.shell("echo x > .env; mkdir .pi; echo x > .pi/settings.json; git init -q; touch mine;"
              "git -C repo config user.name n; git -C repo config core.pager evil;"
              "ln -s x secrets-link; mv mine moved");
  std::set<std::string> names;
  alignas(inotify_event) char buffer[65536];
  for (ssize_t n; (n = ::read(watch, buffer, sizeof buffer)) > 0;)
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      names.insert(event->name);
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  ::close(watch);
  const std::set<std::string> own = {".pi",    ".git",        "mine",        "moved",
                                     "config", "config.lock", "secrets-link"};
  EXPECT_EQ(names, own) << out.output;
  EXPECT_NE(out.refusals.find("/.env: protected path"), std::string::npos) << out.refusals;
  EXPECT_NE(out.refusals.find("core.pager"), std::string::npos) << out.refusals;
}

// What the supervisor needs is not there when somebody listens already: nothing is run.
TEST(GuardProbe, WithoutAListenerTheCommandIsNotStarted) {
  const workspace w(false);
  const auto out =
      w.run({"/tmp/guard-run", "--", "/bin/sh", "-c", "echo ran > ran"}, workspace::guard::on);
  EXPECT_EQ(out.status, 125) << out.output;
  EXPECT_NE(out.output.find("busy"), std::string::npos) << out.output;
  EXPECT_FALSE(std::filesystem::exists(w.path() / "ran"));
}
