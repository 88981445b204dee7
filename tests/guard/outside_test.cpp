// What mounts leave open: names that the host makes while a command runs, descriptors of
// files outside, and FIFOs.
#include "ipc/unique_fd.hpp"
#include "tests/guard/workspace.hpp"
#include "tests/support/read_file.hpp"

#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

using piorch::ipc::unique_fd;
using piorch::test::workspace;
namespace fs = std::filesystem;

namespace {

void write_text(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// Runs `script` after `host` has done its part, while the command already runs.
workspace::outcome run_around(const workspace& w, const std::function<void()>& host,
                              const std::string& script, workspace::guard g) {
  for (const char* name : {"ready", "go"})
    ::mkfifo((w.path() / name).c_str(), 0600);
  std::thread side([&] {
    piorch::test::read_file(w.path() / "ready");
    host();
    write_text(w.path() / "go", "\n");
  });
  auto out = w.shell("echo > ready; read x < go\n" + script, g);
  side.join();
  return out;
}

class GuardOutside : public testing::TestWithParam<workspace::guard> {
protected:
  bool guarded() const { return GetParam() == workspace::guard::on; }
  workspace w{false}, outside{false}; // the second one is read-only for commands
};

} // namespace

TEST_P(GuardOutside, ProtectedNamesThatTheHostMakesMeanwhile) {
  const auto host = [&] {
    write_text(w.path() / ".env", "host");
    fs::create_directory(w.path() / ".vscode");
    write_text(w.path() / ".vscode/tasks.json", "host");
    write_text(w.path() / ".vscode/other.json", "host");
    fs::create_directory(w.path() / ".pi");
    write_text(w.path() / ".pi/settings.json", "host");
  };
  const auto out = run_around(w, host, R"sh(
    test "$(cat .env .vscode/tasks.json)" = hosthost && echo readable
    (flock -s 5 && echo locked) 5< .env
    broken() { echo "BROKEN: $1"; }
    t() { (eval "$1") 2> /dev/null && broken "$1"; }
    t 'echo evil >> .env'
    t 'echo evil > .vscode/tasks.json'
    t 'cd .vscode && echo evil > tasks.json'
    t 'echo evil > way/../.vscode/tasks.json'
    t 'truncate -s 0 .vscode/tasks.json'
    t 'exec 5< .pi/settings.json; echo evil > /proc/self/fd/5'
    t 'echo evil > .vscode/new.json'
    t 'mkdir .vscode/new'
    t 'ln -s ../plain.txt .vscode/new'
    t 'ln .vscode/tasks.json hard'
    t 'mkfifo .vscode/new'
    t 'cp plain.txt here; mv here .vscode/new 2> /dev/null; test -e .vscode/new'
    t "perl -e 'rename(\"plain.txt\", \".vscode/tasks.json\") or exit 1'"
    t "perl -e 'rename(\".vscode/other.json\", \"away\") or exit 1'"
    t "perl -e 'rename(\".vscode\", \"away\") or exit 1'"
    echo finished)sh",
                              GetParam());
  if (guarded()) {
    EXPECT_EQ(out.output, "readable\nlocked\nfinished\n");
    for (const char* name : {".env", ".vscode/tasks.json", ".pi/settings.json"})
      EXPECT_EQ(piorch::test::read_file(w.path() / name), "host") << name;
    EXPECT_NE(out.refusals.find(".vscode/tasks.json: protected path"), std::string::npos);
  } else {
    EXPECT_NE(out.output.find("BROKEN"), std::string::npos) << out.output;
  }
}

TEST_P(GuardOutside, AFileGivenForReadingIsNotOpenedForWriting) {
  const auto file = outside.path() / "plain.txt";
  for (const char* script :
       {"echo evil > /proc/self/fd/0", "echo evil >> /dev/stdin", "exec 7<> /proc/self/fd/0",
        "truncate -s 0 /proc/self/fd/0", "sleep 9 & echo evil > /proc/$!/fd/0; kill $!",
        "echo evil > /proc/thread-self/fd/0", "truncate -s 0 /dev/stdin"}) {
    write_text(file, "host");
    const unique_fd input(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    const auto out = w.shell(std::string(script) + "; echo finished", GetParam(), input.get());
    EXPECT_NE(out.output.find("finished"), std::string::npos) << script << out.output;
    if (guarded()) {
      EXPECT_EQ(piorch::test::read_file(file), "host") << script;
    }
  }
  const unique_fd input(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  w.shell("echo evil > /proc/self/fd/0", workspace::guard::off, input.get());
  EXPECT_EQ(piorch::test::read_file(file), "evil\n") << "the attack is worth nothing";
}

TEST_P(GuardOutside, WhatIsOpenForWritingCanBeOpenedOnceMore) {
  const auto file = outside.path() / "plain.txt";
  const unique_fd both(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  const auto out = w.shell("echo good > /proc/self/fd/0; cat /dev/stdin; cat <<< here > p; "
                           "exec 5<> p; echo own > /dev/fd/5; cat p; echo out > /dev/stderr",
                           GetParam(), both.get());
  EXPECT_EQ(out.output, "good\nown\nout\n");
  EXPECT_EQ(piorch::test::read_file(file), "good\n");
}

TEST_P(GuardOutside, FifosOfReadOnlyMounts) {
  const auto fifo = outside.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  const unique_fd reader(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const std::string name = fifo.string();
  const auto out = w.shell("echo a > " + name + "; echo b 1<> " + name + "; exec 5< " + name +
                               "; echo c > /proc/self/fd/5; perl -MFcntl -e 'sysopen(F, \"" + name +
                               "\", O_WRONLY | O_NONBLOCK) and syswrite(F, \"d\")'; echo finished",
                           GetParam());
  char got[64] = {};
  const auto n = ::read(reader.get(), got, sizeof got);
  EXPECT_NE(out.output.find("finished"), std::string::npos) << out.output;
  if (guarded()) {
    EXPECT_EQ(n, -1) << got;
    EXPECT_NE(out.output.find("Read-only file system"), std::string::npos) << out.output;
  } else {
    EXPECT_GT(n, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(OnAndOff, GuardOutside,
                         testing::Values(workspace::guard::on, workspace::guard::off),
                         [](const auto& i) {
                           return i.param == workspace::guard::on ? "On" : "Off";
                         });
