// Protected names that exist: no way of spelling, moving or replacing them helps.
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace piorch::test {
namespace {

class E2eExecProtected : public testing::Test {
protected:
  // What protected names look like on the host.
  std::map<std::string, std::string> protected_now() const {
    std::map<std::string, std::string> out;
    for (const auto& [path, state] : snapshot(w.project()))
      for (const std::string& name : workspace::protected_files())
        if (path == name)
          out[path] = state;
    for (const std::string& name : workspace::protected_directories())
      for (const auto& [path, state] : snapshot(w.project() / name))
        out[name + "/" + path] = state;
    return out;
  }

  static std::string words(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names)
      out += name + " ";
    return out;
  }

  // Every line of `attacks` with $f set to every name must fail.
  void none_succeeds(const std::vector<std::string>& names, const std::string& attacks) {
    const auto before = protected_now();
    ASSERT_EQ(before.count(".env"), 1u);
    // rn is rename(2) alone: mv copies what it cannot rename, and removes what it can.
    std::string script = "rn() { perl -e 'rename($ARGV[0], $ARGV[1]) or exit 1' \"$@\"; }; echo "
                         "decoy > decoy; mkdir -p decoys/d; for f in " +
                         words(names) + "; do d=$(dirname $f) b=$(basename $f)\n";
    std::istringstream lines(attacks);
    for (std::string line; std::getline(lines, line);)
      if (const auto at = line.find_first_not_of(' '); at != std::string::npos)
        script += "if ( " + line.substr(at) +
                  " ) 2>/dev/null; then echo 'BROKEN: " + line.substr(at) + "' f=$f; fi\n";
    const auto r = run(w.exec(script + "done; echo tried"));
    EXPECT_EQ(r.out, "tried\n") << r.err;
    EXPECT_EQ(protected_now(), before);
  }

  workspace w;
};

TEST_F(E2eExecProtected, FilesCannotBeWrittenRemovedOrReplaced) {
  none_succeeds(workspace::protected_files(), R"sh(
    echo evil > $f
    echo evil >> $f
    echo evil > ./$f
    echo evil > $d//./../$(basename $PWD/$d)/$b
    echo evil > $PWD/$f
    echo evil > /proc/self/cwd/$f
    echo evil > /proc/self/root/$PWD/$f
    exec 3<$f && echo evil > /proc/self/fd/3
    cp --remove-destination decoy $f
    rm -f $f
    mv -f $f elsewhere
    mv -f decoy $f
    ln -f decoy $f
    ln -sfn decoy $f
    ln $f alias && echo evil > alias
    rm -f $f && mkdir $f
    chmod 777 $f
    touch $f
    truncate -s 0 $f
    sed -i s/original/evil/ $f
    install decoy $f
  )sh");
}

TEST_F(E2eExecProtected, DirectoriesCannotBeChangedMovedOrReplaced) {
  none_succeeds(workspace::protected_directories(), R"sh(
    echo evil > $f/new
    mkdir $f/new
    ln -s /etc/passwd $f/new
    ln decoy $f/new
    mv decoy $f/
    rn $f elsewhere
    rn $f $f.moved
    rn decoys $f
    rm -rf $f
    rmdir $f
    chmod 777 $f
    touch $f
  )sh");
}

TEST_F(E2eExecProtected, NoDirectoryAboveAProtectedNameCanBeMoved) {
  none_succeeds({".pi", ".agents", ".agents/skills", ".claude", ".claude/commands", "app",
                 "app/tls", "app/store", ".git", ".git/modules", ".git/modules/lib", ".git/hooks"},
                R"sh(
    rn $f elsewhere
    rn $f $f.moved
    rmdir $f
    rn decoys $f
    rm -rf decoys/d && rn $f decoys/d
    rm -rf $f
    mv -T $f elsewhere2
  )sh");
}

TEST_F(E2eExecProtected, NamesCannotBeExchanged) {
  w.add_helper();
  none_succeeds({".env", "secrets", "app", ".git", ".vscode"}, R"sh(
    test "$(./test-helper exchange $f decoy)" = ok
    test "$(./test-helper exchange decoys $f)" = ok
  )sh");
}

TEST_F(E2eExecProtected, ALinkPlantedByAnEarlierCommandChangesNothing) {
  const auto before = protected_now();
  EXPECT_EQ(run(w.exec("ln -s .env to-file; ln -s app/tls to-dir; ln -s . here; ln -s $PWD abs; "
                       "ln -s .git dotgit; mkdir deep; ln -s ../.. deep/up; ln -s .vscode v"))
                .status,
            0);
  const auto r = run(w.exec(R"sh(
    for f in to-file to-dir/server.key here/.env abs/secrets/token dotgit/hooks/pre-commit \
             dotgit/hooks/post-commit deep/up/project/.env here/here/app/.env.local v/new; do
      { echo evil > $f; } 2>/dev/null && echo BROKEN $f
      rm -f $f.moved; mv -f README.md $f 2>/dev/null && test ! -e README.md && echo moved $f && cp src/main.c README.md
    done; true)sh"));
  EXPECT_THAT(r.out, testing::Not(testing::HasSubstr("BROKEN")));
  EXPECT_EQ(protected_now(), before);
}

TEST_F(E2eExecProtected, WhatALinkUnderAProtectedNameLeadsToIsProtected) {
  write_file(w.project() / "shared/env", "real\n");
  std::filesystem::create_symlink("shared/env", w.project() / ".env.ci");
  const auto r =
      run(w.exec("echo evil > .env.ci; echo evil > shared/env; mv shared x; rm -f shared/env"));
  EXPECT_NE(r.status, 0);
  EXPECT_EQ(read_file(w.project() / "shared/env"), "real\n");
}

TEST_F(E2eExecProtected, MountsCannotBeUndone) {
  none_succeeds({".env", "secrets", "."}, R"sh(
    umount $f
    umount -l $f
    mount -o remount,rw,bind $f
    mount --bind decoys $d
    unshare -Urm true
    unshare -r true
    nsenter -t 1 -m true
  )sh");
}

TEST_F(E2eExecProtected, OrdinaryNamesNextToThemStayWritable) {
  const auto r = run(w.exec(R"sh(set -e
    echo x > .env.example; echo x > app/.env.sample; echo x > app/new.ts; mkdir -p .pi/notes app/tls/more
    echo x > .claude/other.md; echo x > app/tls/readme; mv app/new.ts app/moved.ts; rm app/moved.ts
    echo more >> README.md; mv src source; rm -rf source; echo fine)sh"));
  EXPECT_EQ(r.out, "fine\n") << r.err;
  EXPECT_TRUE(std::filesystem::exists(w.project() / ".env.example"));
  EXPECT_FALSE(std::filesystem::exists(w.project() / "source"));
}

} // namespace
} // namespace piorch::test
