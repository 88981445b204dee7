// Which indexes of Git are taken for harmless.
#include "tests/sandbox/guard_git_index.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace piorch::test;
using namespace piorch::sandbox::guard;

TEST(SandboxGuardGitIndex, TakesWhatGitWrites) {
  for (const std::string format : {"sha1", "sha256"}) {
    const std::size_t id = format == "sha1" ? 20 : 32;
    repository r(format);
    for (const std::string version : {"2", "4"}) {
      const auto check = [&](const std::string& what, const std::string& holds = "DIRC") {
        const auto index = r.index();
        EXPECT_NE(index.find(holds), std::string::npos) << what;
        expect_harmless(index, id, format + " version " + version + " " + what);
      };
      r.git({"update-index", "--index-version", version});
      r.git({"add", "."});
      check("plain");
      std::ofstream(r.file("new.txt")) << "new";
      r.git({"add", "-N", "new.txt"}); // version 3
      check("intent to add");
      r.git({"rm", "-q", "--cached", "new.txt"});
      r.git({"update-index", "--force-untracked-cache"});
      r.git({"status"});
      check("untracked cache", "UNTR");
      r.git({"update-index", "--no-untracked-cache"});
      r.git({"-c", "index.threads=2", "update-index", "--force-write-index"});
      check("offsets", "EOIE");
      r.git({"update-index", "--split-index"});
      std::ofstream(r.file("README.md"), std::ios::app) << version;
      r.git({"add", "README.md"});
      check("split", "link");
      std::string shared;
      for (const auto& f : std::filesystem::directory_iterator(r.file(".git")))
        if (f.path().filename().string().rfind("sharedindex.", 0) == 0)
          expect_harmless(shared = read_file(f.path()), id, "shared index");
      EXPECT_FALSE(shared.empty());
      r.git({"update-index", "--no-split-index"});
    }
    r.git({"commit", "-qm", "1"});
    r.git({"checkout", "-qb", "other"});
    std::ofstream(r.file("README.md")) << "other";
    r.git({"commit", "-qam", "2"});
    r.git({"checkout", "-q", "-"});
    std::ofstream(r.file("README.md")) << "mine";
    r.git({"commit", "-qam", "3"});
    r.git({"merge", "other"});
    expect_harmless(r.index(), id, "conflict");
    r.git({"add", "README.md"});
    EXPECT_NE(r.index().find("REUC"), std::string::npos);
    expect_harmless(r.index(), id, "resolved conflict");
    r.git({"commit", "-qm", "4"});
    r.git({"sparse-checkout", "set", "--cone", "--sparse-index", "src"});
    EXPECT_NE(r.index().find("sdir"), std::string::npos);
    expect_harmless(r.index(), id, "sparse");
  }
  EXPECT_STREQ(bad_index(""), nullptr);
  EXPECT_STREQ(bad_index("", 20), nullptr);
}

TEST(SandboxGuardGitIndex, TakesManyFilesInBlocks) {
  repository r;
  std::string list;
  for (int i = 0; i < 40000; ++i)
    list += "100644 " + std::string(40, 'a') + "\tdir-" + std::to_string(i % 300) + "/file" +
            std::to_string(i) + "\n";
  std::ofstream(r.file("list")) << list;
  for (const std::string version : {"2", "4"}) {
    const std::string command =
        "git -c index.threads=4 -c index.version=" + version + " update-index --index-info < list";
    ASSERT_EQ(std::system(("cd '" + r.file("") + "' && rm -f .git/index && " + command).c_str()),
              0);
    auto index = r.index();
    EXPECT_EQ(index[7], version[0] - '0');
    expect_harmless(index, 20, "many in version " + version);
    // A table that leads a thread elsewhere.
    const auto table = index.rfind("IEOT");
    ASSERT_NE(table, std::string::npos);
    for (const std::size_t at : {12u, 16u, 20u, 24u, 11u}) {
      auto forged = index;
      forged[table + at + 3] = static_cast<char>(forged[table + at + 3] + 8);
      EXPECT_STRNE(bad_index(forged), nullptr) << at;
    }
    auto forged = index; // the end of the entries: 4 bytes behind the header of EOIE
    ++forged[index.size() - 20 - 24 + 3];
    EXPECT_STREQ(bad_index(forged), "git index: offsets that lead elsewhere");
  }
}

TEST(SandboxGuardGitIndex, RefusesPathsThatLeadOutside) {
  for (const std::size_t version : {2u, 3u, 4u})
    for (const std::size_t id : {20u, 32u}) {
      const auto fresh = [&] {
        forger f{version, id};
        return f;
      };
      EXPECT_STREQ(bad_index(fresh().add("a/b").add("a/c").index()), nullptr);
      EXPECT_STREQ(bad_index(fresh().index()), nullptr);
      std::string deep; // longer than an entry's flags can say
      for (int i = 0; i < 2500; ++i)
        deep += "l/";
      EXPECT_STREQ(bad_index(fresh().add(deep + "a").add(deep + "b").index()), nullptr);
      for (const auto& path : bad_paths) {
        EXPECT_STRNE(bad_index(fresh().add(path).index()), nullptr) << path;
        EXPECT_STRNE(bad_index(fresh().add(path).index(), id), nullptr) << path;
        EXPECT_STRNE(bad_index(fresh().add("a/b").add(path).add("z").index()), nullptr) << path;
        EXPECT_STRNE(bad_index(fresh().add(path + "a").add(path).index(), id), nullptr) << path;
        EXPECT_STRNE(bad_index(fresh().add(deep + path).index(), id), nullptr) << path;
      }
      for (const char* path : {"a/..b", "...", ".gitignore", ".github/x", "a/.gita", "git", "git~2",
                               "x.git/config", "a:b", "a\\b", "\\a", "g", "\xe2\x80"})
        EXPECT_STREQ(bad_index(fresh().add(path).index(), id), nullptr) << path;
    }
}

TEST(SandboxGuardGitIndex, SeesPathsThatOnlyCompressionMakes) {
  const auto start = [] { return forger{4}.add("a/.gix"); };
  EXPECT_STREQ(bad_index(start().raw(6, varint(1) + "y").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(start().raw(6, varint(1) + "t").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(start().raw(8, varint(1) + "t/x").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{4}.add("a/..b").raw(4, varint(1)).index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{4}.add("a/..b").raw(6, varint(1) + "/c").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{4}.add("a/b").raw(2, varint(1)).index(), 20), nullptr); // "a/"
  EXPECT_STRNE(bad_index(forger{4}.add("a/b").raw(4, varint(1) + "/x").index(), 20), nullptr);
  // More taken away than there was; more than a number holds; a first entry with something.
  EXPECT_STRNE(bad_index(start().raw(1, varint(7) + "t").index()), nullptr);
  EXPECT_STRNE(bad_index(start().raw(1, std::string(9, '\xff') + "\x7fx").index()), nullptr);
  EXPECT_STRNE(bad_index(start().raw(1, std::string(20, '\x80') + "x").index()), nullptr);
  EXPECT_STRNE(bad_index(forger{4}.raw(1, varint(1) + "t").index()), nullptr);
  // A size smaller than what is kept, or other than what follows.
  for (const std::size_t size : {0u, 1u, 4u, 5u, 7u, 100u, 0xffeu, 0xfffu})
    EXPECT_STRNE(bad_index(start().raw(size, varint(0) + "").index()), nullptr) << size;
  // Few bytes that make long paths.
  auto grows = forger{4}.add("a");
  for (int i = 0; i < 100; ++i)
    grows.raw(0xfff, varint(0) + std::string(1000, 'b') + "/");
  EXPECT_STRNE(bad_index(grows.index()), nullptr);
}

TEST(SandboxGuardGitIndex, RefusesWhatGitWouldNotWrite) {
  const auto plain = [] { return forger{2}.add("a").add("b"); };
  EXPECT_STREQ(bad_index(plain().index(extension("TREE", "x"))), nullptr);
  EXPECT_STREQ(bad_index(plain().index(extension("ZZZZ", ""))), nullptr);
  EXPECT_STREQ(bad_index(plain().index(extension("link", "x") + extension("sdir", ""))), nullptr);
  EXPECT_STRNE(bad_index(plain().index(extension("zzzz", ""))), nullptr);
  EXPECT_STRNE(bad_index(plain().index(extension("linK", ""))), nullptr);
  EXPECT_STRNE(bad_index(plain().index("TREE" + be32(1))), nullptr);
  EXPECT_STRNE(bad_index(plain().index("TREE" + be32(0xffffffff) + "x")), nullptr);
  EXPECT_STRNE(bad_index(plain().index("TREE")), nullptr);
  EXPECT_STRNE(bad_index(forger{5}.add("a").index()), nullptr);
  EXPECT_STRNE(bad_index(forger{1}.add("a").index()), nullptr);
  EXPECT_STRNE(bad_index("dirc" + plain().index().substr(4)), nullptr);
  for (const std::size_t count : {0u, 1u, 3u, 0x7fffffffu})
    EXPECT_STRNE(bad_index("DIRC" + be32(2) + be32(count) + plain().index().substr(12)), nullptr);
  // Flags only version 3 has, and flags nobody knows.
  EXPECT_STREQ(bad_index(forger{3}.raw(0x4001, be16(0x2000) + "a").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{2}.raw(0x4001, be16(0x2000) + "a").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{3}.raw(0x4001, be16(0x8000) + "a").index(), 20), nullptr);
  // A size that hides the rest of a name, or says that it is long when it is not.
  EXPECT_STRNE(bad_index(forger{2}.raw(1, "a/../../b").index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{2}.raw(0xfff, "a").index(), 20), nullptr);
  // No name but in a split index; a directory only in a sparse one.
  EXPECT_STRNE(bad_index(forger{2}.raw(0, "").index(), 20), nullptr);
  EXPECT_STREQ(bad_index(forger{2}.raw(0, "").index(extension("link", "x")), 20), nullptr);
  EXPECT_STREQ(bad_index(forger{2}.add("a/", 040000).index(extension("sdir", "")), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{2}.add("/", 040000).index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{2}.add(".git/", 040000).index(), 20), nullptr);
  EXPECT_STRNE(bad_index(forger{2}.add("a//", 040000).index(), 20), nullptr);
}

// Git's threads believe EOIE where the file ends and the table found from there.
TEST(SandboxGuardGitIndex, RefusesTablesThatLeadElsewhere) {
  const auto f = forger{2}.add("a").add("b");
  const auto eoie = [](std::size_t end) {
    return extension("EOIE", be32(end) + std::string(20, 'h'));
  };
  const auto table = [](std::size_t first, std::size_t n, std::size_t second, std::size_t m) {
    return extension("IEOT", be32(1) + be32(first) + be32(n) + be32(second) + be32(m));
  };
  const auto end = f.here();
  EXPECT_STREQ(bad_index(f.index(table(12, 1, 76, 1) + eoie(end)), 20), nullptr);
  EXPECT_STREQ(bad_index(f.index(table(12, 2, 0, 0) + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(table(12, 1, 77, 1) + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(table(12, 1, 76, 2) + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(table(12, 1, 12, 1) + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(table(76, 1, 12, 1) + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(table(12, 1, 0, 0) + eoie(end)), 20), nullptr);
  const auto good = table(12, 1, 76, 1);
  EXPECT_STRNE(bad_index(f.index(good + good + eoie(end)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(good + eoie(end + 1)), 20), nullptr);
  EXPECT_STRNE(bad_index(f.index(good + eoie(end) + extension("ZZZZ", "")), 20), nullptr);
  // One hidden in the last extension, with which the entries would end elsewhere.
  for (const std::string name : {"ZZZZ", "EOIE"})
    EXPECT_STREQ(bad_index(f.index(extension(name, std::string(4, 'x') + eoie(end - 64)))),
                 "git index: offsets that lead elsewhere");
  // In version 4 a block begins with a whole path.
  forger v4{4};
  v4.add("ab");
  const auto second = v4.here();
  v4.add("ac");
  EXPECT_STRNE(bad_index(v4.index(table(12, 1, second, 1) + eoie(v4.here())), 20), nullptr);
  EXPECT_STREQ(bad_index(v4.index(table(12, 2, 0, 0) + eoie(v4.here())), 20), nullptr);
}

// An index of SHA-256 whose first one has this path for who reads it with ids of SHA-1: the path
// begins within the id.
std::string hide(const std::string& path, std::size_t entries = 2) {
  forger f{2, 32};
  for (std::size_t i = 0; i < entries; ++i)
    f.add("a" + std::to_string(i));
  return f.index().replace(72, 3 + path.size(), be16(path.size()) + path + std::string(1, '\0'));
}

// Without its settings, which can be removed, a repository of SHA-256 is one of SHA-1.
TEST(SandboxGuardGitIndex, WhatIsHarmlessForSha256IsSoForSha1) {
  for (const std::size_t entries : {1u, 2u, 5u}) {
    for (const std::string path : {"../x", "a/../../x", ".git/x", "/x", "/planted", "//x"}) {
      EXPECT_STREQ(bad_index(hide(path, entries), 32), "git index: a path that leads outside");
      EXPECT_STRNE(bad_index(hide(path, entries), 20), nullptr);
      EXPECT_STRNE(bad_index(hide(path, entries)), nullptr) << path;
    }
    EXPECT_STREQ(bad_index(hide("a/x", entries), 32), nullptr);
    EXPECT_STREQ(bad_index(hide("a/x", entries)), nullptr);
  }
}

// One that a repository of SHA-1 may have.
TEST(SandboxGuardGitIndex, IsReadByTheRepositorysFormat) {
  for (const char* path : {"a/b/c/d/e/f/etc/x", "aaaaaaaaaaaa/etc/x", "aaaaaaaaaab/c"}) {
    const auto one = forger{}.add(path).add("b").index();
    EXPECT_STREQ(bad_index(one, 20), nullptr) << path;
    EXPECT_STREQ(bad_index(one), nullptr) << path;
    EXPECT_STRNE(bad_index(one, 32), nullptr) << path;
  }
}

// What ends early Git reads on with zeros.
TEST(SandboxGuardGitIndex, RefusesWhatEndsEarly) {
  for (const std::size_t version : {2u, 3u, 4u})
    for (const std::size_t id : {20u, 32u}) {
      auto index = forger{version, id}.add("a").add("b").index();
      EXPECT_STREQ(bad_index(index, id), nullptr);
      ++index[11]; // entries
      EXPECT_STRNE(bad_index(index, id), nullptr);
      EXPECT_STRNE(bad_index(index), nullptr);
    }
}

TEST(SandboxGuardGitIndex, RefusesEveryTruncationOfABadOne) {
  for (const std::size_t version : {2u, 3u, 4u}) {
    const auto whole = forger{version}.add("../x").add("b").add("c").index(extension("TREE", "x"));
    for (std::size_t n = 1; n <= whole.size(); ++n)
      EXPECT_STRNE(bad_index(whole.substr(0, n)), nullptr) << version << " " << n;
  }
}

// Whatever we take and Git reads, in threads too, has only plain paths for Git.
TEST(SandboxGuardGitIndex, NeverSeesLessThanGit) {
  repository r;
  std::vector<std::string> seeds;
  for (const std::string version : {"2", "4"}) {
    r.git({"update-index", "--index-version", version});
    r.git({"add", "."});
    seeds.push_back(r.index());
    r.git({"-c", "index.threads=2", "update-index", "--force-write-index"});
    seeds.push_back(r.index());
  }
  std::mt19937 random(5);
  const std::string pieces[] = {"..", "/", ".git", "/../", std::string(1, '\0'), "\x01", "EOIE"};
  int taken = 0, listed = 0;
  for (int round = 0; round < 20000 && listed < 60; ++round) {
    auto index = seeds[random() % seeds.size()];
    for (auto n = random() % 4; n > 0; --n) {
      const auto at = 8 + random() % (index.size() - 8);
      if (random() % 3)
        index[at] = static_cast<char>(random());
      else if (const auto& piece = pieces[random() % 7]; at + piece.size() <= index.size())
        index.replace(at, piece.size(), piece);
    }
    if (random() % 8 == 0)
      index.resize(random() % index.size());
    if (bad_index(index, 20) || (++taken % 4 != 0))
      continue;
    std::ofstream(r.file(".git/index"), std::ios::binary) << index;
    std::string out;
    if (r.git({"-c", "index.threads=3", "ls-files", "-z"}, &out) != 0)
      continue;
    ++listed;
    for (std::size_t at = 0; at < out.size();) {
      const std::string path = out.c_str() + at;
      EXPECT_EQ(kind_of_path(path), path_kind::plain) << path;
      at += path.size() + 1;
    }
  }
  EXPECT_GE(listed, 40);
}

// Entries of a few bytes can share a long beginning: it is not gone through for each of them.
TEST(SandboxGuardGitIndex, DoesNotReadALongComponentOnceMoreForEachEntry) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t pages = 4, known = (pages - 1) * page + 2000;
  auto* at = static_cast<char*>(
      ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(at, MAP_FAILED);
  std::memset(at, 'a', pages * page);
  at[known] = 'b';
  const std::string_view path(at, known + 1);
  EXPECT_EQ(kind_of_path(path, known), path_kind::strange);
  EXPECT_EQ(kind_of_path(path), path_kind::strange);
  at[known - 2] = '/';
  at[known - 1] = '.';
  at[known] = '.';
  EXPECT_EQ(kind_of_path(path, known), path_kind::outside);
  std::memset(at + known - 2, 'a', 2);
  ASSERT_EQ(::mprotect(at + page, (pages - 2) * page, PROT_NONE), 0);
  EXPECT_EXIT(std::_Exit(kind_of_path(path, known) == path_kind::strange ? 0 : 1),
              testing::ExitedWithCode(0), "");
  ::munmap(at, pages * page);
}

} // namespace
