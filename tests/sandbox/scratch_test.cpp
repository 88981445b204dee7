#include "sandbox/scratch.hpp"

#include "tests/support/run.hpp"
#include "tests/support/workspace.hpp"

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;
using test::write_file;
using testing::HasSubstr;

class SandboxScratch : public testing::Test {
protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(base.path()), fs::directory_iterator()));
  }
  // A directory as a killed process leaves it: nobody holds its lock.
  fs::path leave_behind() {
    auto made = scratch::make(base.path());
    EXPECT_TRUE(made);
    return made->release().first; // the descriptor, and with it the lock, goes
  }

  test::temp_dir base;
};

TEST_F(SandboxScratch, IsPrivateAndGoesWithItsOwner) {
  {
    auto s = scratch::make(base.path());
    ASSERT_TRUE(s) << s.failed().text;
    EXPECT_THAT(s->path(), HasSubstr("/pi-sandbox-tmp-"));
    struct stat st {};
    ASSERT_EQ(::lstat(s->path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode, S_IFDIR | 0700u);
    write_file(fs::path(s->path()) / "a/b/file", "x");
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SandboxScratch, CannotBeMadeWhereThereIsNoDirectory) {
  const auto s = scratch::make(base / "nowhere");
  ASSERT_FALSE(s);
  EXPECT_THAT(s.failed().text, HasSubstr("nowhere"));
}

TEST_F(SandboxScratch, AllLieInOneDirectoryOfTheUserAsLongAsThereIsOne) {
  const fs::path parent = scratch_parent(fs::canonical(base.path()));
  EXPECT_EQ(parent.filename(), "pi-sandbox-" + std::to_string(::geteuid()));
  auto one = scratch::make(base.path());
  auto other = scratch::make(base.path());
  for (const auto* s : {&one, &other})
    EXPECT_EQ(fs::path((*s)->path()).parent_path(), parent);
  EXPECT_EQ(fs::status(parent).permissions(), fs::perms::owner_all);
  one->remove();
  EXPECT_TRUE(fs::exists(parent));
  other->remove();
  EXPECT_FALSE(fs::exists(parent));
}

TEST_F(SandboxScratch, TheDirectoryOfAllIsOursAndNoLink) {
  const fs::path parent = scratch_parent(base.path());
  fs::create_directory(parent);
  fs::permissions(parent, fs::perms::all);
  {
    ASSERT_TRUE(scratch::make(base.path()));
    fs::create_directory(base / "somebody");
    fs::create_directory_symlink(base / "somebody", parent);
  }
  auto made = scratch::make(base.path());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.failed().text, HasSubstr("links are not followed"));
  EXPECT_TRUE(fs::is_empty(base / "somebody"));
  if (::geteuid() != 0)
    return;
  fs::remove(parent);
  fs::create_directory(parent);
  ASSERT_EQ(::chown(parent.c_str(), 65534, 65534), 0);
  made = scratch::make(base.path());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.failed().text, HasSubstr("belongs to another user"));
  EXPECT_TRUE(fs::is_empty(parent));
}

// Whoever is the last removes what the next one is about to use.
TEST_F(SandboxScratch, ManyCanComeAndGoAtOnce) {
  std::atomic<int> failed{0};
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        if (!scratch::make(base.path()))
          ++failed;
    });
  for (int round = 0; round < 200; ++round)
    sweep_scratch(base.path());
  for (std::thread& t : all)
    t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SandboxScratch, ASweepTakesWhatVersionsBeforeHaveLeft) {
  write_file(base / "pi-sandbox-tmp-piorch-abcdef/file", "x");
  sweep_scratch(base.path());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SandboxScratch, ASweepTakesWhatNobodyHolds) {
  const auto left = leave_behind();
  write_file(left / "closed/file", "x");
  fs::permissions(left / "closed", fs::perms::none);
  fs::permissions(left, fs::perms::none);
  sweep_scratch(base.path());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SandboxScratch, ASweepLeavesWhatIsInUse) {
  auto s = scratch::make(base.path());
  write_file(fs::path(s->path()) / "file", "x");
  sweep_scratch(base.path());
  EXPECT_EQ(test::read_file(fs::path(s->path()) / "file"), "x");
}

TEST_F(SandboxScratch, ASweepLeavesWhatIsNotOurs) {
  for (const fs::path& where : {base.path(), fs::path(scratch_parent(base.path()))}) {
    fs::create_directories(where / "pi-sandbox-tmp-abcdef"); // another program's
    fs::create_directory(where / "somebody");
    write_file(where / "pi-sandbox-tmp-piorch-file", "not a directory");
    fs::create_directory_symlink(where / "somebody", where / "pi-sandbox-tmp-piorch-link");
  }
  const auto before = test::snapshot(base.path());
  sweep_scratch(base.path());
  EXPECT_EQ(test::snapshot(base.path()), before);
}

TEST_F(SandboxScratch, RemovalFollowsNoLink) {
  write_file(base / "outside/file", "kept");
  const auto left = leave_behind();
  fs::create_directory_symlink(base / "outside", left / "link");
  fs::create_symlink(base / "outside/file", left / "file");
  sweep_scratch(base.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(test::read_file(base / "outside/file"), "kept");
}

TEST_F(SandboxScratch, ATreeDeeperThanAnyPathIsRemoved) {
  const auto left = leave_behind();
  int at = ::open(left.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < 3000; ++level) {
    ASSERT_EQ(::mkdirat(at, "d", 0700), 0);
    const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(next, 0);
    if (level % 500 == 0)
      ::fchmod(at, 0);
    ::close(at);
    at = next;
  }
  ::close(at);
  sweep_scratch(base.path());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SandboxScratch, ManyEntriesAreRemoved) {
  const auto left = leave_behind();
  for (int i = 0; i < 2000; ++i)
    write_file(left / ("d" + std::to_string(i % 50)) / std::to_string(i), "");
  ASSERT_EQ(::mkfifo((left / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(remove_tree(AT_FDCWD, left.c_str()));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(SandboxScratch, RemovingWhatIsGoneIsSuccess) {
  EXPECT_TRUE(remove_tree(AT_FDCWD, (base / "nothing").c_str()));
}

TEST_F(SandboxScratch, TheLockGoesOverWithTheDescriptor) {
  auto [path, fd] = scratch::make(base.path())->release();
  scratch next = scratch::adopt(path, std::move(fd));
  sweep_scratch(base.path());
  EXPECT_TRUE(fs::exists(path));
  next.remove();
  EXPECT_FALSE(fs::exists(path));
}

} // namespace
} // namespace piorch::sandbox
