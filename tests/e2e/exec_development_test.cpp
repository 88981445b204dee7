// Ordinary development goes on inside a sandbox.
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {
namespace {

class E2eExecDevelopment : public testing::Test {
protected:
  void works(const std::string& script, const std::string& output) {
    const auto r = run(w.exec("set -e\n" + script));
    EXPECT_EQ(r.status, 0) << r.out << r.err;
    EXPECT_EQ(r.out, output) << r.err;
  }
  // A test whose program is missing is a failure where everything must be tested.
  static bool lacks(const std::string& name) {
    if (run({{"sh", "-c", "command -v " + name}}).status == 0)
      return false;
    if (std::getenv("PIORCH_MUST_WORK"))
      ADD_FAILURE() << name << " is not installed";
    return true;
  }

  workspace w;
};

TEST_F(E2eExecDevelopment, GitInTheRoot) {
  works(R"sh(
    echo one > one; git add one; git commit -qm one
    git checkout -qb topic; echo two > two; git add two; git commit -qm two
    git checkout -q main; echo three > three; git add three; git commit -qm three
    git rebase -q main topic; git log --format=%s
    echo change >> one; git stash -q; git status --porcelain one; git stash pop -q; git diff --stat | tail -1
    git checkout -q one; git merge -q --no-edit main
    git remote add origin https://example.org/a.git; git remote set-url origin https://example.org/b.git
    git remote get-url origin; git branch -q --set-upstream-to=main; git tag v1; git gc -q
    git worktree add -q tree -b side; git -C tree log -1 --format=%s; git worktree remove tree
    git fsck 2>&1 | grep -c error || true)sh",
        "two\nthree\none\nfirst\n 1 file changed, 1 "
        "insertion(+)\nhttps://example.org/b.git\ntwo\n0\n");
  EXPECT_EQ(w.host_output({"git", "log", "-1", "--format=%s", "topic"}), "two\n");
}

TEST_F(E2eExecDevelopment, GitInASubdirectory) {
  works(R"sh(
    mkdir -p new/repo; cd new/repo; git init -q; echo x > x; git add x; git commit -qm nested
    cd ..; git clone -q repo copy; git -C copy log --format=%s; git -C copy pull -q)sh",
        "nested\n");
}

TEST_F(E2eExecDevelopment, ABuildWithCMake) {
  write_file(w.project() / "CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.10)\n"
             "project(hello C)\nadd_executable(hello src/main.c)\n");
  works("cmake -S . -B build > log 2>&1 || cat log; cmake --build build > log 2>&1 || cat log; "
        "./build/hello; echo built",
        "built\n");
}

TEST_F(E2eExecDevelopment, DebuggersOfOwnChildren) {
  if (lacks("strace") || lacks("gdb"))
    return;
  works("strace -f -o log -e trace=openat sh -c 'echo x > y'; grep -c '\"y\"' log\n"
        "gdb -q -batch -ex run --args /bin/sh -c 'echo x > z' 2>&1 | grep -o 'exited normally'; "
        "cat z",
        "1\nexited normally\nx\n");
}

TEST_F(E2eExecDevelopment, ArchivesLocksAndParallelBuilds) {
  works(R"sh(
    mkdir t; for i in $(seq 300); do echo $i > t/f$i; done; tar cf t.tar t; mkdir out; tar xf t.tar -C out
    diff -r t out/t && echo same; echo 0 > n; for i in 1 2 3 4; do (flock 9; read n < n; echo $((n + 1)) > n) 9> lock & done; wait; cat n
    printf 'all: %s\n%%:\n\techo $@ > $@\n' "$(seq -s ' ' -f o%g 40)" > M; make -s -j8 -f M; cat o* | wc -l)sh",
        "same\n4\n40\n");
}

TEST_F(E2eExecDevelopment, FourWritersOfADatabase) {
  if (lacks("sqlite3"))
    return;
  works(R"sh(
    sqlite3 d 'pragma journal_mode=wal; create table t(a);'
    for w in 1 2 3 4; do
      (for i in $(seq 15); do sqlite3 -cmd '.timeout 20000' d "insert into t values($i)"; done) & done
    wait; sqlite3 d 'select count(*) from t')sh",
        "wal\n60\n");
}

TEST_F(E2eExecDevelopment, NpmInstallsALocalFolder) {
  if (lacks("npm"))
    return;
  write_file(
      w.project() / "package.json",
      R"sh({"name": "app", "version": "1.0.0", "dependencies": {"local": "file:./packages/local"}})sh");
  write_file(w.project() / "packages/local/package.json",
             R"sh({"name": "local", "version": "2.0.0"})sh");
  write_file(w.project() / "packages/local/index.js", "module.exports = 'from the folder'\n");
  works("npm install --no-audit --no-fund --loglevel=error >&2; node -p 'require(\"local\")'",
        "from the folder\n");
}

TEST_F(E2eExecDevelopment, APythonEnvironment) {
  works("python3 -m venv --without-pip env; ./env/bin/python -c 'import sys; print(sys.prefix != "
        "sys.base_prefix)'",
        "True\n");
}

TEST_F(E2eExecDevelopment, SqliteWithAWriteAheadLog) {
  works(R"sh(python3 -c '
import sqlite3, os
db = sqlite3.connect("data.db")
print(db.execute("pragma journal_mode=wal").fetchone()[0])
db.execute("create table t(x)")
db.execute("insert into t values (42)")
db.commit()
print(os.path.exists("data.db-wal"), sqlite3.connect("data.db").execute("select x from t").fetchone()[0])
')sh",
        "wal\nTrue 42\n");
}

TEST_F(E2eExecDevelopment, NodeWithWorkersAndChildren) {
  if (lacks("node"))
    return;
  works(R"sh(node -e '
const { execSync, spawn } = require("child_process")
console.log(execSync("echo child").toString().trim())
new (require("worker_threads").Worker)("require(\"worker_threads\").parentPort.postMessage(\"worker\")",
  { eval: true }).on("message", m => console.log(m))')sh",
        "child\nworker\n");
}

TEST_F(E2eExecDevelopment, AServerAndAClientOnLoopback) {
  works(R"sh(python3 -c '
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: s.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(s.getsockname()).recv(5).decode())
')sh",
        "hello\n");
}

} // namespace
} // namespace piorch::test
