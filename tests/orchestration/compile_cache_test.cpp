#include "orchestration/compile_cache.hpp"

#include "tests/support/temp_dir.hpp"

#include <fstream>
#include <gtest/gtest.h>

namespace piorch::orchestration {
namespace {

namespace fs = std::filesystem;

class CompileCache : public ::testing::Test {
protected:
  CompileCache() {
    for (const char* name : {"node", "cli.js", "package.json"})
      std::ofstream(tmp / name) << name;
    pi = {tmp / "node", tmp / "cli.js", tmp.path()};
  }
  void fill(const compile_cache::preparation& p) {
    fs::create_directory(p.cache);
    std::ofstream(p.cache + "/x") << "x";
  }
  test::temp_dir tmp;
  pi_installation pi;
  compile_cache cache{tmp / "state/compile-cache"};
};

TEST_F(CompileCache, IsFoundOnceItIsKept) {
  EXPECT_EQ(cache.find(pi, "/w"), "");
  const auto made = cache.prepare(pi);
  ASSERT_TRUE(made) << made.failed().text;
  fill(*made);
  EXPECT_EQ(cache.find(pi, "/w"), "") << "not before it is complete";
  ASSERT_TRUE(cache.keep(*made));
  EXPECT_TRUE(fs::exists(cache.find(pi, "/w") + "/x"));
  EXPECT_FALSE(fs::exists(made->directory));
}

TEST_F(CompileCache, IsNotGivenToASessionThatCouldWriteIt) {
  const auto made = cache.prepare(pi);
  fill(*made);
  ASSERT_TRUE(cache.keep(*made));
  EXPECT_EQ(cache.find(pi, tmp / "state"), "");
  EXPECT_EQ(cache.find(pi, "/"), "");
  EXPECT_NE(cache.find(pi, tmp / "stat"), "");
}

TEST_F(CompileCache, IsMadeByOneAtATime) {
  const auto first = cache.prepare(pi);
  ASSERT_TRUE(first);
  EXPECT_EQ(cache.prepare(pi).failed().code, failure::limit_reached);
  compile_cache::drop(*first);
  EXPECT_TRUE(cache.prepare(pi));
}

TEST_F(CompileCache, AnotherPiIsAnotherCacheAndTheOldOneGoes) {
  const auto old = cache.prepare(pi);
  fill(*old);
  ASSERT_TRUE(cache.keep(*old));
  std::ofstream(tmp / "cli.js") << "a new version";
  EXPECT_EQ(cache.find(pi, "/w"), "");
  const auto made = cache.prepare(pi);
  fill(*made);
  ASSERT_TRUE(cache.keep(*made));
  EXPECT_FALSE(fs::exists(old->final));
}

TEST_F(CompileCache, NothingIsKeptOfAProgramThatWroteNothing) {
  const auto made = cache.prepare(pi);
  EXPECT_FALSE(cache.keep(*made));
  EXPECT_FALSE(fs::exists(made->directory));
  EXPECT_EQ(cache.find(pi, "/w"), "");
}

TEST_F(CompileCache, ItsMakerGetsNoModelAndNoWordOfAClient) {
  const auto made = cache.prepare(pi);
  const auto how = compile_cache::launch(pi, *made, {{"NODE_OPTIONS", "--require x"}, {"A", "b"}});
  for (const auto& variable : how.environment)
    EXPECT_EQ(variable.find("NODE_OPTIONS"), std::string::npos);
  ASSERT_EQ(how.agent_files.size(), 2u);
  EXPECT_TRUE(compile_cache::is_last_line(R"({"type":"agent_settled","aborted":false})"));
  EXPECT_FALSE(compile_cache::is_last_line(R"({"type":"agent_end"})"));
}

} // namespace
} // namespace piorch::orchestration
