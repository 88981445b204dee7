// `.git` files made by a command: they lead to a place that the guard watches, or are not made.
// Judged from the host, at the end.
#include "sandbox/guard/git_file_places.hpp"
#include "tests/guard/workspace.hpp"
#include "tests/support/read_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using piorch::sandbox::guard::holds_a_git_file;
using piorch::sandbox::guard::on_the_way_of_a_git_file;
using piorch::test::workspace;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class GuardGitFiles : public testing::Test {
protected:
  std::string text(const char* name = "tree/.git") const {
    return piorch::test::read_file(w.path() / name);
  }
  std::string names(const std::string& inside) const {
    return "gitdir: " + (w.path() / inside).string() + "\n";
  }
  workspace::outcome run(const std::string& script) const {
    auto out = w.shell("g() { printf 'gitdir: %s\\n' \"$1\"; }; w=$PWD; mkdir -p tree\n" + script +
                       "\necho finished: $?");
    EXPECT_THAT(out.output, HasSubstr("finished: 0")) << script;
    EXPECT_EQ(w.planted(), "") << script;
    return out;
  }

  workspace w;
};

} // namespace

TEST_F(GuardGitFiles, ThoseThatLeadInsideArePutInPlaceWithAnAbsolutePath) {
  for (const char* script :
       {"g $w/repo/.git > tree/.git", "g ../repo/.git > tree/.git",
        "g .././repo//.git/ >> tree/.git", "g ../repo/.git > f; mv f tree/.git",
        "g ../repo/.git > f; cp f tree/.git",
        "g ../repo/.git > tree/.git.lock; mv tree/.git.lock tree/.git",
        "printf 'gitdir: ../repo/.git' > tree/.git",
        "g ../repo/.git > tree/.git; cat tree/.git > f",
        "mkdir /tmp/t; g $w/repo/.git > /tmp/t/.git; mv /tmp/t/.git tree/.git"}) {
    EXPECT_EQ(run(std::string("rm -rf tree/.git;") + script).refusals, "") << script;
    EXPECT_EQ(text(), names("repo/.git")) << script;
  }
  EXPECT_EQ(run("g new.git > tree/.git").refusals, ""); // Git makes the directory afterwards
  EXPECT_EQ(text(), names("tree/new.git"));
}

TEST_F(GuardGitFiles, OthersAreGoneOrAsTheyWereAndAreReported) {
  for (const char* script :
       {"g /etc > tree/.git", "g ../.. > tree/.git", "g $w/../x > tree/.git",
        "g /tmp/x > tree/.git", "g ../own/x > tree/.git",
        "mkdir own/x; g ../own/x/.git > tree/.git", "g ../plain.txt > tree/.git",
        "g ../way/x > tree/.git", "g /tmp/x > f; mv f tree/.git || :",
        "ln -s $w l; g ../l/repo/.git > tree/.git", "echo gitdir:$w/repo/.git > tree/.git",
        "(g $w/repo/.git; echo x) > tree/.git", "printf 'gitdir: %s\\0' $w/repo/.git > tree/.git",
        "g $(printf 'd/%.0s' $(seq 65)) > tree/.git", "g $(printf %04090d 1) > tree/.git"}) {
    EXPECT_THAT(run(script).refusals, HasSubstr("tree/.git: git file: ")) << script;
    EXPECT_FALSE(fs::exists(w.path() / "tree/.git")) << script;
  }
  run("g ../repo/.git > tree/.git");
  EXPECT_THAT(run("g /etc > tree/.git").refusals, HasSubstr("leads out of"));
  EXPECT_EQ(text(), names("repo/.git"));
  EXPECT_EQ(run("rm tree/.git; touch tree/.git").refusals, "");
  EXPECT_EQ(text(), "");
}

// Nobody has to wait who makes a guarded call in between, as Git does.
TEST_F(GuardGitFiles, TheyAreThereBeforeTheNextGuardedCall) {
  const auto out = run(R"sh(mkdir deep
    for i in $(seq 200); do rm -f deep/.git; g ../repo/.git > deep/.git; : > tick; read x < deep/.git
      test "$x" = "gitdir: $w/repo/.git" || echo "$i: $x"; done)sh");
  EXPECT_EQ(out.output, "finished: 0\n");
}

// A moved repository keeps its submodules; they keep their places in it.
TEST_F(GuardGitFiles, ThoseOfSubmodulesStayRelative) {
  const auto out = run(R"sh(mkdir -p repo/sub/module repo/.git/modules
    g ../../.git/modules/m > repo/sub/module/.git; : > tick
    mv repo/sub/module m && echo moved; mv repo/sub s && echo moved; mv repo other)sh");
  EXPECT_EQ(out.output, "mv: cannot move 'repo/sub/module' to 'm': Permission denied\n"
                        "mv: cannot move 'repo/sub' to 's': Permission denied\nfinished: 0\n");
  for (const char* held : {"/repo/sub/module: it holds a .git", "/repo/sub: it holds a .git"})
    EXPECT_THAT(out.refusals, HasSubstr(held));
  EXPECT_EQ(text("other/sub/module/.git"), "gitdir: ../../.git/modules/m\n");
  EXPECT_EQ(run("g ../.git/modules/m > tree/.git").refusals, ""); // of the workspace's own
  EXPECT_EQ(text(), "gitdir: ../.git/modules/m\n");
  run("g ../repo/.git/modules/m > tree/.git; mkdir -p /tmp/t; g ../anywhere > /tmp/t/.git");
  EXPECT_EQ(text(), names("repo/.git/modules/m"));
}

TEST_F(GuardGitFiles, OnTheWayToThemOnlyDirectoriesAreMade) {
  const auto out = run(R"sh(mkdir d; g ../d/e.git > tree/.git; : > tick
    mkdir d/e.git; mv d/e.git f; ln -s /etc d/e.git && echo linked; mv f d/e.git && echo moved
    mkdir d/e.git; mv f d; rm -r d; mkdir d; ln -s x d/other)sh");
  EXPECT_THAT(out.refusals, HasSubstr("/d/e.git: a .git file leads through it"));
  EXPECT_EQ(out.output, "ln: failed to create symbolic link 'd/e.git': Permission denied\n"
                        "mv: cannot move 'f' to 'd/e.git': Permission denied\nfinished: 0\n");
}

// The report names what is in the way, by whatever rule a name is moved.
TEST_F(GuardGitFiles, TheReportNamesWhatMayNotArriveOrLeave) {
  const auto out = run(R"sh(mkdir -p d repo/sub/objects/m x/objects p
    g ../d/objects/e.git > tree/.git; : > tick; mv x/objects d
    g ../../../.git/modules/m > repo/sub/objects/m/.git; : > tick; mv repo/sub/objects p || :)sh");
  const auto said = [&](const char* name, const char* rule) {
    return HasSubstr((w.path() / name).string() + ": " + rule + "\n");
  };
  EXPECT_THAT(out.refusals, said("d/objects", on_the_way_of_a_git_file));
  EXPECT_THAT(out.refusals, said("repo/sub/objects", holds_a_git_file));
  EXPECT_TRUE(fs::exists(w.path() / "x/objects"));
  EXPECT_TRUE(fs::exists(w.path() / "repo/sub/objects"));
}

// What is watched on the way costs memory and time in PID 1.
TEST_F(GuardGitFiles, OnlySoManyNamesAreWatched) {
  const auto out = run(R"sh(perl -e '
    for my $i (1 .. 300) {
      mkdir "d$i"; if (open my $f, ">", "d$i/.git") { print $f "gitdir: ", "x$i/" x 50, "\n"; close $f }
    }'; : > tick; ls -d d*/.git | wc -l; ln -s x link; mv link other; g ../repo/.git > tree/.git)sh");
  EXPECT_THAT(out.refusals, HasSubstr("/.git: git file: too many of them in one command"));
  EXPECT_EQ(out.output, "160\nfinished: 0\n");
}

// Links and moves at the moment in which the text is put in place, many times; run() looks.
TEST_F(GuardGitFiles, WhoComesInBetweenWinsNothing) {
  const std::string race = R"sh(perl -e '
    sub g { if (open my $f, ">", "$_[0]/.git") { print $f "gitdir: $_[1]\n"; close $f } }
    sub meanwhile { my $p = fork; return $p if $p; $_[0]->(); exit 0 }
    for my $i (1 .. 300) {
      mkdir "t$i"; mkdir "repo/x$i"; mkdir "repo/x$i/y"; mkdir "m$i"; symlink "/var/tmp", "m$i/e";
      my @p = (meanwhile(sub { symlink "/var/tmp", "d$i" }), meanwhile(sub { rename "repo/x$i/y", "y$i" }),
               meanwhile(sub { rename "m$i", "n$i" }));
      g("t$i", $i % 2 ? "../d$i/e.git" : "../n$i/e/f.git"); g("repo/x$i/y", "../../.git/modules/m");
      waitpid $_, 0 for @p;
    }')sh";
  run(race);
  const workspace other;
  other.shell(race, workspace::guard::off); // a control
  for (const char* way : {"/t", "/y"})
    EXPECT_THAT(other.planted(), HasSubstr(other.path().string() + way));
}
