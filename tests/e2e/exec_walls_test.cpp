// What a sandboxed command cannot read, and where it cannot write.
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace piorch::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class E2eExecWalls : public testing::Test {
protected:
  std::string outside(const std::string& name) const { return w.top() / "outside" / name; }

  workspace w;
};

TEST_F(E2eExecWalls, TheHomeCannotBeRead) {
  const auto r = run(w.exec(R"sh(
    cat ~/notes.txt ~/.ssh/id_ed25519 ../notes.txt "$HOME/project/../notes.txt"
    cat /proc/self/root"$HOME"/notes.txt /proc/1/root"$HOME"/notes.txt
    ls ~/.ssh
    ls -A ~
    head -1 ~/.gitconfig
    cat README.md)sh"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, ".gitconfig\nproject\n[user]\nhello\n") << "nothing else is in the home";
  EXPECT_THAT(r.err, Not(HasSubstr("private")));
}

TEST_F(E2eExecWalls, TheHomeOfTheUserDatabaseCountsToo) {
  const auto r = run(w.exec("ls -A ~$(id -un)")); // HOME is another directory in this test
  EXPECT_EQ(r.out, "") << "hidden, although HOME says something else";
}

TEST_F(E2eExecWalls, ReadsThatAreAllowedWork) {
  w.configure(R"sh({"filesystem": {"additionalAllowRead": [")sh" + (w.home() / ".ssh").string() +
              "\"]}}");
  const std::string script = "cat ~/.ssh/id_ed25519 ~/notes.txt; echo x > ~/.ssh/id_ed25519";
  auto r = run(w.exec(script));
  EXPECT_EQ(r.out, "the private key");
  EXPECT_THAT(r.err, HasSubstr("notes.txt: No such file"));
  EXPECT_THAT(r.err, HasSubstr("Read-only file system"));
  r = run(w.exec(script, {"--allow-read", "../notes.txt"}));
  EXPECT_EQ(r.out, "the private keyprivate notes");
}

TEST_F(E2eExecWalls, WritesOutsideAreRefusedNotSwallowed) {
  // In every case a file that could really be written by this user.
  const std::string paths = w.home().string() + "/new " + w.home().string() + "/.gitconfig " +
                            outside("file") + " " + outside("new") + " " + w.host_temp().string() +
                            "/new ../new /dev/new /dev/shm/../new /proc/new /etc/new /usr/new "
                            "/proc/self/root" +
                            outside("file");
  const auto r = run(w.exec("for f in " + paths +
                            "; do { echo evil > $f; } 2>/dev/null && echo BROKEN $f; done; "
                            "mv README.md ..; ln README.md " +
                            outside("hard") + "; cp README.md " + outside("copy") + "; mkdir " +
                            outside("dir") + "; rm -f " + outside("file") + "; chmod 777 " +
                            outside("file") + "; touch " + outside("file") + "; exit 7"));
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(snapshot(w.top() / "outside").size(), 1u);
  EXPECT_EQ(read_file(outside("file")), "outside");
  EXPECT_FALSE(std::filesystem::exists(w.home() / "new"));
  EXPECT_EQ(read_file(w.project() / "README.md"), "hello\n");
}

TEST_F(E2eExecWalls, ALinkInTheWorkspaceIsNoWayOut) {
  std::filesystem::create_symlink(w.top() / "outside", w.project() / "out");
  std::filesystem::create_symlink(outside("file"), w.project() / "file");
  std::filesystem::create_symlink(w.home() / "notes.txt", w.project() / "notes");
  const auto r = run(w.exec("cat notes; echo evil > file; echo evil > out/new; cat file"));
  EXPECT_EQ(r.out, "outside");
  EXPECT_EQ(read_file(outside("file")), "outside");
  EXPECT_FALSE(std::filesystem::exists(outside("new")));
}

TEST_F(E2eExecWalls, ThePrivateTemporaryDirectoryIsWritableAndGoesAway) {
  const auto r = run(w.exec(R"sh(
    test "$TMPDIR" = "$TMP" -a "$TMPDIR" = "$TEMP" || echo different
    case $TMPDIR in */pi-sandbox-tmp-*) ;; *) echo wrong name ;; esac
    stat -c %a "$TMPDIR"
    cd "$(mktemp -d)" && mkdir -p a/b closed/c && chmod 0 closed a/b && echo x > a/file && echo written)sh"));
  EXPECT_EQ(r.out, "700\nwritten\n") << r.err;
  EXPECT_TRUE(std::filesystem::is_empty(w.host_temp()));
}

// What one hides in /tmp is there only as long as somebody uses it.
TEST_F(E2eExecWalls, SandboxesOfAnotherTemporaryDirectoryComeAndGo) {
  const auto twenty_in = [&](const char* temp_dir) {
    auto p =
        w.host({"sh", "-c",
                "for i in $(seq 20); do '" + piorch_program() + "' exec -- true || exit 1; done"});
    if (temp_dir)
      p.environment["TMPDIR"] = temp_dir;
    return p;
  };
  for (int round = 0; round < 2; ++round) {
    child other(twenty_in("/tmp"));
    const auto own = run(twenty_in(nullptr));
    EXPECT_EQ(own.status, 0) << own.err;
    const auto done = other.finish();
    EXPECT_EQ(done.status, 0) << done.err;
  }
}

// Keys of a worker lie in its private directory, and every sandbox of a user has the same uid.
TEST_F(E2eExecWalls, AnotherSandboxsPrivateDirectoryIsNotSeen) {
  const std::string look = "read go; find " + w.host_temp().string() +
                           " /tmp/pi-sandbox-* -name auth.json -exec cat {} +; ls -A " +
                           w.host_temp().string() +
                           "/pi-sandbox-*; echo mine > $TMPDIR/mine; "
                           "cat $TMPDIR/mine; ls -d $TMPDIR; echo x > $TMPDIR/../x";
  const auto waiting = [](program p) {
    p.keep_input_open = true;
    return p;
  };
  const std::string keep = "mkdir $TMPDIR/agent && echo the key > $TMPDIR/agent/auth.json; "
                           "echo READY; read go; cat $TMPDIR/agent/auth.json";
  program in_tmp = waiting(w.exec(keep)); // where the others' temporary directory is not
  in_tmp.environment["TMPDIR"] = "/tmp";
  child elsewhere(in_tmp);
  ASSERT_TRUE(elsewhere.read_until("READY\n"));
  child first(waiting(w.exec("echo READY; " + look)));
  ASSERT_TRUE(first.read_until("READY\n"));
  child owner(waiting(w.exec(keep)));
  ASSERT_TRUE(owner.read_until("READY\n"));
  child later(waiting(w.exec("echo READY; " + look)));
  ASSERT_TRUE(later.read_until("READY\n"));
  for (child* c : {&first, &later}) {
    c->write("\n");
    const auto r = c->finish();
    EXPECT_THAT(r.out, Not(HasSubstr("the key")));
    EXPECT_THAT(r.out, testing::ContainsRegex("mine\n[^\n]*/pi-sandbox-[0-9]+/pi-sandbox-tmp-"));
    EXPECT_THAT(r.err, HasSubstr("/x: Read-only file system"));
  }
  for (child* c : {&owner, &elsewhere}) {
    c->write("\n");
    EXPECT_THAT(c->finish().out, HasSubstr("the key")) << "its own is";
  }
  EXPECT_TRUE(std::filesystem::is_empty(w.host_temp()));
}

TEST_F(E2eExecWalls, WithoutATemporaryDirectoryThereIsNoWritableOne) {
  program p = w.exec("echo \"${TMPDIR-unset}\"; touch /tmp/here");
  p.environment["TMPDIR"] = outside("file"); // not a directory
  const auto r = run(p);
  EXPECT_EQ(r.out, "unset\n") << r.err;
  EXPECT_EQ(r.status, 1);
}

TEST_F(E2eExecWalls, NorWhereALinkHasTheNameOfThePrivateDirectories) {
  std::filesystem::create_directory_symlink(
      w.top() / "outside", w.host_temp() / ("pi-sandbox-" + std::to_string(::geteuid())));
  write_file(w.host_temp() / "others/auth.json", "the key");
  const auto r = run(w.exec("echo \"${TMPDIR-unset}\"; ls -A " + w.host_temp().string() +
                            "; touch " + w.host_temp().string() + "/mine || echo no"));
  EXPECT_EQ(r.out, "unset\nno\n") << r.err << "what others have there could not be hidden";
  EXPECT_EQ(snapshot(w.top() / "outside").size(), 1u);
}

TEST_F(E2eExecWalls, HarmlessDevicesWork) {
  const auto r = run(w.exec(R"sh(set -e
    echo gone > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c
    echo memory > /dev/shm/mine; cat /dev/shm/mine /dev/fd/0 < /dev/shm/mine)sh"));
  EXPECT_EQ(r.out, "4\n4\nmemory\nmemory\n") << r.err;
  EXPECT_EQ(r.status, 0);
}

} // namespace
} // namespace piorch::test
