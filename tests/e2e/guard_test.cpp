// piorch exec under the create guard: names that do not exist, everyday work, and what the host
// sees of it.
#include "tests/e2e/guarded_exec.hpp"
#include "tests/support/older_kernel.hpp"
#include "tests/support/other_listener.hpp"
#include "tests/support/watched_tree.hpp"

#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::cli {
namespace {

using nlohmann::json;
using test::watched_tree;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

TEST_F(GuardedExec, AbsentNamesCannotComeIntoBeing) {
  const auto r = in_sandbox(R"sh(
    try() { "$@" 2>/dev/null && echo "worked: $*"; }
    echo x > own; mkdir empty
    try sh -c 'echo x > .env'; try mkdir secrets; try ln -s own .bashrc; try ln own .zshrc
    try mv own .profile; try cp own .mcp.json; try mkfifo .ripgreprc; try mv empty .vscode
    mkdir .pi; try sh -c 'echo {} > .pi/settings.json'; try mkdir .pi/extensions; try mkdir .pi/commands
    try mv .pi pi; try ln -s src .agents; try sh -c 'echo x > .ENV'
    cd src; try sh -c 'echo x > ../.env'; try touch "$OLDPWD/./src//../.env.local"
    LC_ALL=C sh -c 'echo x > ../.env' )sh");
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("Permission denied"));
  std::set<std::string> there;
  for (const auto& e : fs::directory_iterator(app))
    there.insert(e.path().filename());
  EXPECT_EQ(there, (std::set<std::string>{"src", "config", "own", "empty", ".pi"}));
  EXPECT_TRUE(fs::is_empty(app / ".pi"));
  const auto refused = refusals();
  for (const char* line :
       {".env: protected path", "secrets: protected path", ".bashrc: protected path",
        ".zshrc: protected path", ".profile: protected path", ".mcp.json: protected path",
        ".ripgreprc: protected path", ".vscode: protected path",
        ".pi/settings.json: protected path", ".pi/extensions: protected path",
        ".pi/commands: protected path", ".ENV: protected path", ".env.local: protected path",
        ".pi: leads to a protected path: only mkdir, never moved", ".agents: protected path"})
    EXPECT_THAT(refused, Contains(line));
}

// What makes a directory look like a Git directory must not take anything off the list.
TEST_F(GuardedExec, AFileCalledHeadUnguardsNothing) {
  home.write("app/HEAD", "ref: refs/heads/main\n");
  fs::create_directory(app / ".pi");
  home.write("app/.pi/HEAD", "ref: refs/heads/main\n");
  for (const char* pointer : {"", "gitdir: .\n", "gitdir: .pi\n"}) {
    if (*pointer)
      home.write("app/.git", pointer);
    in_sandbox("echo x > .env; echo x > .pi/settings.json; mkdir .agents; echo x > .agents/skills");
    EXPECT_FALSE(fs::exists(app / ".env")) << pointer;
    EXPECT_FALSE(fs::exists(app / ".pi/settings.json")) << pointer;
    EXPECT_FALSE(fs::exists(app / ".agents/skills")) << pointer;
  }
}

TEST_F(GuardedExec, MovingFilesBesideAProtectedOne) {
  expect_works(R"sh(
    git init -q; git add -f config src; git commit -qm all
    git mv config/web/site.conf src/site.conf; mv src/main.c config/web/; mkdir other
    git mv src/site.conf config/web/back.conf; ln config/web/back.conf other/link
    mv other/link config/; python3 -c 'import os; os.rename("config/link", "src/link")')sh");
  EXPECT_TRUE(fs::exists(app / "config/web/back.conf"));
  EXPECT_TRUE(fs::exists(app / "src/link"));
}

TEST_F(GuardedExec, WhatLeadsToAProtectedFileStaysWhereItIs) {
  const auto r = in_sandbox(R"sh(
    mv config c && echo moved; mv config/web w && echo moved; mv config/web/.env e && echo moved
    rm -f config/web/.env; rm -rf config/web; echo x >> config/web/.env && echo written
    mkdir swap; python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
for name in (b"config", b"config/web"):
  if c.renameat2(-100, name, -100, b"swap", 2) == 0: print("exchanged")' )sh");
  EXPECT_EQ(r.out, "") << r.err;
  EXPECT_EQ(test::read_file(app / "config/web/.env"), "secret\n");
  EXPECT_THAT(refusals(),
              AllOf(Contains("config: leads to a protected path: only mkdir, never moved"),
                    Contains("config/web: leads to a protected path: only mkdir, never moved")));
}

TEST_F(GuardedExec, Packages) {
  if (has("npm"))
    expect_works(R"sh(
      mkdir -p library/lib job
      echo '{"name":"library","version":"1.0.0","files":["lib"]}' > library/package.json
      for i in $(seq 60); do echo "module.exports=$i" > library/lib/$i.js; done; echo x > library/lib/.env
      npm pack --silent ./library > name
      cd job; echo '{"name":"job","version":"1.0.0"}' > package.json
      npm install --silent --offline --no-audit --no-fund ../library "../$(cat ../name)"
      npm ci --silent --offline --no-audit --no-fund
      test "$(node -p 'require("library/lib/7.js")')" = 7)sh");
  if (has("/usr/bin/python3"))
    expect_works("/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys; "
                 "assert sys.prefix != sys.base_prefix'");
}

TEST_F(GuardedExec, TheHostSeesNoNameThatTheCommandDidNotMake) {
  ASSERT_EQ(in_sandbox("git init -q; mkdir -p .pi deep/er; git add src; git commit -qm x").status,
            0);
  watched_tree host(app);
  const auto r = in_sandbox(R"sh(
    echo x > .env; mkdir secrets; echo x > .pi/settings.json; ln -s src .bashrc
    echo x > deep/er/own; mv deep/er/own deep/moved; git config core.pager evil; git config user.name n
    mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_INET).bind(("127.0.0.1", 0))'
    mv config c; echo x > config/web/.env; (umask 077; mkdir new))sh");
  EXPECT_EQ(host.names(), (std::set<std::string>{"deep/er/own", "deep/moved", ".git/config.lock",
                                                 ".git/config", "fifo", "new"}))
      << r.out << r.err;
}

TEST_F(GuardedExec, TwelveCommandsAtOnce) {
  ASSERT_EQ(in_sandbox("git init -q; git add src; git commit -qm x").status, 0);
  home.write("script", R"sh(
    mkdir -p own/$1 && cd own/$1 || exit 1
    for i in $(seq 20); do
      echo $i > f$i || exit 2; mv f$i g$i || exit 3
      (echo x > ../../.env) 2>/dev/null && exit 4; mkdir ../../secrets 2>/dev/null && exit 5
    done
    git init -q . && git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m $1 || exit 6
    (echo x > .git/hooks/pre-commit) 2>/dev/null && exit 7
    git -C ../.. config core.pager evil 2>/dev/null && exit 8
    test "$(ls | wc -l)" = 20)sh");
  watched_tree host(app);
  const int raw = std::system(
      ("cd '" + home.path().string() +
       "' && for n in 1 2 3 4 5 6 7 8 9 10 11 12; do (HOME=$PWD timeout 120 '" PIORCH_BUILD_DIR
       "/bin/piorch' exec -C app -- bash -c \"$(cat script)\" "
       "sh $n </dev/null >out.$n 2>&1; echo $? >>statuses) & done; wait")
          .c_str());
  EXPECT_EQ(raw, 0);
  std::string logs;
  for (int n = 1; n <= 12; ++n)
    logs += test::read_file(home.path() / ("out." + std::to_string(n)));
  EXPECT_EQ(test::read_file(home.path() / "statuses"), "0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n")
      << logs;
  const auto names = host.names();
  for (const char* name : {".env", "secrets"})
    EXPECT_EQ(names.count(name), 0u) << name;
  EXPECT_EQ(test::read_file(app / ".git/config").find("evil"), std::string::npos);
}

// The processes below `root`, by the names that they give themselves.
pid_t find_below(pid_t root, const std::string& name) {
  for (std::vector<pid_t> todo{root}; !todo.empty();) {
    const std::string at = "/proc/" + std::to_string(todo.back());
    const pid_t pid = todo.back();
    todo.pop_back();
    if (test::read_file(at + "/comm") == name + "\n")
      return pid;
    std::istringstream children(test::read_file(at + "/task/" + std::to_string(pid) + "/children"));
    for (pid_t child; children >> child;)
      todo.push_back(child);
  }
  return -1;
}

TEST_F(GuardedExec, TheEndOfPidOneIsTheEndOfEverything) {
  int output[2];
  ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
  const pid_t piorch = ::fork();
  if (piorch == 0) {
    ::dup2(output[1], 1);
    ::setenv("HOME", home.path().c_str(), 1);
    ::execl(
        PIORCH_BUILD_DIR "/bin/piorch", "piorch", "exec", "-C", app.c_str(), "-c",
        // One that makes names all the time, one that ignores signals, one in a session of its own.
        "(trap '' TERM HUP INT; setsid sleep 100 & while :; do : > f; rm f; done) & "
        // By then PID 1 has long told that it started the command.
        "sleep 100 & for i in $(seq 50); do mkdir d && rmdir d; done; echo up; while :; do mkdir "
        "d; rmdir d; done",
        nullptr);
    ::_exit(99);
  }
  ::close(output[1]);
  char c = 0;
  ASSERT_EQ(::read(output[0], &c, 1), 1);
  const pid_t init = find_below(piorch, "piorch-init");
  ASSERT_GT(init, 0);
  ASSERT_EQ(::kill(init, SIGKILL), 0);
  // The pipe's end: nobody inside holds it any more.
  while (::read(output[0], &c, 1) > 0) {
  }
  ::close(output[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(piorch, &status, 0), piorch);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 128 + SIGKILL);
}

// Before Linux 5.19 the guard is another one, and all say so.
TEST_F(GuardedExec, OnAnOlderKernelTheFallbackIsAtWork) {
  ASSERT_EQ(test::under_an_older_kernel([&] {
              const auto r = in_sandbox("mkdir d; echo x > .env; git init -q; "
                                        "git config core.pager x; ls -d d .git .env");
              EXPECT_THAT(r.out, HasSubstr(".git\nd\n"));
              EXPECT_FALSE(fs::exists(app / ".env"));
              EXPECT_EQ(test::read_file(app / ".git/config").find("pager"), std::string::npos);
              EXPECT_THAT(run("policy -C app").out, HasSubstr("this kernel (before 5.19) lets"));
              const auto all = json::parse(run("policy -C app --json").out);
              EXPECT_EQ(all["createGuard"], true);
              EXPECT_EQ(all["createGuardMode"], "replay");
              EXPECT_THAT(run("doctor").out, HasSubstr("uninterrupted notification is missing"));
              return !testing::Test::HasFailure();
            }),
            0);
}

// Where somebody else listens already there is no guard, and then no command: all say so.
TEST_F(GuardedExec, WithoutAGuardNothingIsStartedAndEverybodySaysWhy) {
  constexpr const char* remedy =
      "another seccomp listener is at work here (LXD, another piorch): run piorch outside of it";
  EXPECT_EQ(json::parse(run("policy -C app --json").out)["createGuard"], true);
  ASSERT_EQ(
      test::under_another_listener([&] {
        const auto r = run("exec -C app -- touch ran");
        EXPECT_EQ(r.status, 125);
        EXPECT_EQ(r.err,
                  "piorch exec: cannot guard the protected names: Device or resource busy; " +
                      std::string(remedy) + "\n");
        EXPECT_FALSE(fs::exists(app / "ran"));
        const auto policy = run("policy -C app");
        EXPECT_THAT(policy.out, AllOf(HasSubstr("no command is started here"), HasSubstr(remedy)));
        const auto all = json::parse(run("policy -C app --json").out);
        EXPECT_EQ(all["createGuard"], false);
        EXPECT_EQ(all["createGuardProblem"], remedy);
        const auto doctor = run("doctor");
        EXPECT_EQ(doctor.status, 1);
        EXPECT_THAT(doctor.out, AllOf(HasSubstr("seccomp notification is taken by another program"),
                                      HasSubstr("FAIL  sandbox: cannot be made")));
        return !testing::Test::HasFailure();
      }),
      0);
}

} // namespace
} // namespace piorch::cli
