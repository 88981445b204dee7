#include "sandbox/private_copies.hpp"

#include "tests/support/temp_dir.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;

TEST(SandboxPrivateCopies, HalfAFileOfACacheIsNotLeft) {
  test::temp_dir top;
  fs::create_directories(top / "cache");
  std::ofstream(top / "cache/small") << "small";
  std::ofstream(top / "cache/large") << std::string(100'000, 'x');
  auto temp = scratch::make(top.path().string());
  ASSERT_TRUE(temp);

  // The file system is full, as far as this process can see.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{50'000, before.rlim_max};
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  const auto placed =
      place_private_copies({{top / "cache", "copy", false}, {top / "cache/small", "file"}}, *temp);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);

  EXPECT_TRUE(placed) << "a cache is not needed";
  EXPECT_FALSE(fs::exists(temp->path() + "/copy/large"));
  EXPECT_TRUE(fs::exists(temp->path() + "/file"));
}

} // namespace
} // namespace piorch::sandbox
