// Indexes for tests: as Git writes them, and forged ones.
#pragma once

#include "sandbox/guard/git_index.hpp"
#include "sandbox/guard/git_paths.hpp"
#include "tests/support/read_file.hpp"
#include "tests/support/run.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace piorch::test {

using namespace piorch::sandbox::guard;

// A repository that the Git of this machine makes.
class repository {
public:
  explicit repository(const std::string& format = "sha1") {
    git({"init", "-q", "--object-format=" + format, "."});
    std::filesystem::create_directories(dir_ / "src/lib");
    std::filesystem::create_directories(dir_ / "docs/a/b");
    for (const char* name : {"README.md", "src/lib/one.cpp", "src/lib/two.cpp", "src/main.cpp",
                             "docs/a/b/page-1.md", "docs/.gitignore", "docs/..more", "a\\b c"})
      std::ofstream(dir_ / name) << name;
    std::filesystem::create_symlink("src", dir_ / "short-cut");
  }

  // -1: Git was killed or could not be started
  int git(std::vector<std::string> words, std::string* out = nullptr) {
    words.insert(words.begin(), {"git", "-c", "user.name=a", "-c", "user.email=a@b"});
    const auto got = piorch::test::run({words,
                                        dir_.path(),
                                        {{"GIT_CONFIG_GLOBAL", "/dev/null"},
                                         {"GIT_CONFIG_NOSYSTEM", "1"},
                                         {"GIT_DIR", std::nullopt},
                                         {"GIT_INDEX_FILE", std::nullopt}}});
    if (out)
      *out = got.out;
    return got.overdue ? -1 : got.status;
  }

  std::string file(const std::string& name) const { return dir_ / name; }
  std::string index() const { return read_file(file(".git/index")); }

private:
  piorch::test::temp_dir dir_;
};

inline void expect_harmless(const std::string& index, std::size_t id_size,
                            const std::string& what) {
  ASSERT_FALSE(index.empty()) << what;
  EXPECT_STREQ(bad_index(index, id_size), nullptr) << what;
  EXPECT_STREQ(bad_index(index), nullptr) << what;
  EXPECT_STRNE(bad_index(index, 52 - id_size), nullptr) << what;
}

inline std::string be16(std::size_t n) {
  return {static_cast<char>(n >> 8 & 0xff), static_cast<char>(n & 0xff)};
}
inline std::string be32(std::size_t n) { return be16(n >> 16) + be16(n); }

inline std::string varint(std::size_t n) {
  std::string out(1, static_cast<char>(n & 127));
  while (n >>= 7)
    out.insert(out.begin(), static_cast<char>(128 | (--n & 127)));
  return out;
}

struct forger {
  std::size_t version = 2, id = 20, count = 0;
  std::string body = {}, before = {};

  std::size_t here() const { return 12 + body.size(); } // the next entry's offset

  forger& raw(std::size_t flags, const std::string& rest, std::size_t mode = 0100644) {
    ++count;
    const auto from = body.size();
    body += std::string(24, '\1') + be32(mode) + std::string(12, '\1') + std::string(id, '\2') +
            be16(flags) + rest;
    if (version != 4)
      body.append(8 - (body.size() - from) % 8, '\0');
    else
      body += '\0';
    return *this;
  }
  forger& add(const std::string& path, std::size_t mode = 0100644) {
    std::string rest = path;
    if (version == 4) {
      const auto same = std::mismatch(path.begin(), path.end(), before.begin(), before.end());
      const auto common = static_cast<std::size_t>(same.first - path.begin());
      rest = varint(before.size() - common) + path.substr(common);
      before = path;
    }
    return raw(std::min<std::size_t>(path.size(), 0xfff), rest, mode);
  }
  std::string index(const std::string& extensions = {}) const {
    return "DIRC" + be32(version) + be32(count) + body + extensions + std::string(id, '\3');
  }
};

inline std::string extension(const std::string& name, const std::string& data) {
  return name + be32(data.size()) + data;
}

const std::string bad_paths[] = {"../x",
                                 "a/../../x",
                                 "..",
                                 "a/..",
                                 "/etc/passwd",
                                 ".git/config",
                                 "a/.git/hooks/x",
                                 "a/.git",
                                 ".GIT/config",
                                 "a/.gIt/x",
                                 "git~1/x",
                                 "GIT~1",
                                 ".git. ./x",
                                 ".git /x",
                                 ".git::$DATA/x",
                                 "a\\.git\\x",
                                 "a\\..\\..\\x",
                                 ".g\xe2\x80\x8cit/x",
                                 "\xef\xbb\xbf.git/x",
                                 "a//b",
                                 "a/./b",
                                 "./a",
                                 "a/",
                                 std::string("a\0b", 3),
                                 ".",
                                 "a/git~1...:x/y"};

} // namespace piorch::test
