#include "sandbox/guard/git_config.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace piorch::sandbox::guard;

namespace {

std::string list(std::string_view text) {
  std::vector<config_entry> entries;
  if (!parse_config(text, entries))
    return "unreadable";
  std::string out;
  for (const auto& e : entries)
    out += e.name() + (e.has_value ? "=" + e.value : "") + ";";
  return out;
}

} // namespace

TEST(SandboxGuardGitConfig, ReadsWhatGitWrites) {
  EXPECT_EQ(list("[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
                 "[remote \"origin\"]\n\turl = https://example.org/a.git\n"),
            "core.repositoryformatversion=0;core.bare=false;"
            "remote.origin.url=https://example.org/a.git;");
}

TEST(SandboxGuardGitConfig, SeesKeysWhereverGitSeesThem) {
  EXPECT_EQ(list("[core] hooksPath = x"), "core.hookspath=x;");
  EXPECT_EQ(list("[CORE]HOOKSPATH=x"), "core.hookspath=x;");
  EXPECT_EQ(list("\xef\xbb\xbf[core]\nfsmonitor"), "core.fsmonitor;");
  EXPECT_EQ(list("[a]x=1 [core]\nfsmonitor=y"), "a.x=1 [core];a.fsmonitor=y;");
  EXPECT_EQ(list("[a]\nx=1\\\n[core]\nfsmonitor=y"), "a.x=1[core];a.fsmonitor=y;");
  EXPECT_EQ(list("[a]\nx=1;\\\n[core]\nfsmonitor=y"), "a.x=1;core.fsmonitor=y;");
  EXPECT_EQ(list("[a]\nx=\"1;\\\n# \"\n[core]\nfsmonitor=y"), "a.x=1;# ;core.fsmonitor=y;");
  EXPECT_EQ(list("[filter.Evil]\nclean=y"), "filter.evil.clean=y;");
  EXPECT_EQ(list("[filter \"A \\\"B\"]\nclean=y"), "filter.A \"B.clean=y;");
  EXPECT_EQ(list("[core]\r\nfsmonitor = y\r\n"), "core.fsmonitor=y;");
  EXPECT_EQ(list("# [x]\n; y\n\n[core] # z\n\tbare = true ; tail"), "core.bare=true;");
}

TEST(SandboxGuardGitConfig, RejectsWhatItCannotBeSureOf) {
  for (std::string_view text :
       {"key = value", "[core", "[core]\nx y", "[core]\n=x", "[]\nx=1", "[core \"a\nb\"]\nx=1",
        "[core]\nx = \"open\n", "[core]\nx = \\q", "[core \"a\"b]\nx=1", "[co_re]\nx=1",
        "[core]\n-x=1", "[core]\nx = a\x01", "[core]\nx = a\x7f", "[core]\nx=1\\",
        "[core]\na\rb=1"})
    EXPECT_EQ(list(text), "unreadable") << text;
  EXPECT_EQ(list(std::string_view("[core]\nx=1\0[y]", 15)), "unreadable");
  EXPECT_EQ(list(std::string(config_bytes_at_most + 1, '\n')), "unreadable");
}

// Texts put together from the pieces that matter: wherever Git reads a text at all, it
// must not see an entry that we do not see.
TEST(SandboxGuardGitConfig, NeverSeesLessThanGit) {
  const char* pieces[] = {"[core]", "[a \"b\"]", "[a.B]", "hooksPath",   "x",    "=", " ",
                          "\t",     "\n",        "\\\n",  "\"",          "\\\"", "#", ";",
                          "\r\n",   "\\\\",      "[",     "]",           "1",    "-", ".",
                          " = y\n", "\\t",       "\r",    "[a.b \"c\"]", "z=1\n"};
  std::mt19937 random(7);
  char path[] = "/tmp/piorch-git-config-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  int read_by_git = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = random() % 3 ? "[core]\n" : "";
    for (auto n = random() % 14; n > 0; --n)
      text += pieces[random() % (sizeof pieces / sizeof *pieces)];
    std::ofstream(path, std::ios::binary) << text;
    FILE* git =
        popen(("git config --list -z -f " + std::string(path) + " 2>/dev/null").c_str(), "r");
    ASSERT_NE(git, nullptr);
    std::string output;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, git)) > 0;)
      output.append(buffer, n);
    if (pclose(git) != 0)
      continue;
    ++read_by_git;
    std::vector<config_entry> entries;
    if (!parse_config(text, entries))
      continue; // stricter than Git
    std::multiset<std::string> ours, git_sees;
    for (const auto& e : entries)
      ours.insert(e.name() + (e.has_value ? "\n" + e.value : ""));
    for (std::size_t at = 0; at < output.size();) {
      const auto end = output.find('\0', at);
      git_sees.insert(output.substr(at, end - at));
      at = end + 1;
    }
    EXPECT_EQ(ours, git_sees) << text;
  }
  unlink(path);
  EXPECT_GT(read_by_git, 40);
}
