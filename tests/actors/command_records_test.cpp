#include "actors/command_records.hpp"

#include <gtest/gtest.h>

namespace piorch::actors {
namespace {

TEST(ActorsCommandRecords, KeepsWhatWasRefusedAlsoAfterTheEnd) {
  command_records all;
  all.begin("7-c1", "x", "make", "/w", "then");
  all.note("7-c1", ipc::network_entry{"example.org", 443, "deny", "noApprover"});
  all.note("7-c1", ipc::refused_path{"/w/.git/hooks", "a Git hook"});
  all.note("7-c9", ipc::refused_path{"/nobody", "s"});
  auto r = all.find("7-c1");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->command, "make");
  EXPECT_EQ(r->cwd, "/w");
  EXPECT_EQ(r->started_at, "then");
  EXPECT_FALSE(r->ended_at);
  ASSERT_EQ(r->network.size(), 1u);
  EXPECT_EQ(r->network[0].host, "example.org");
  all.end("7-c1", "now");
  r = all.find("7-c1");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->ended_at, "now");
  ASSERT_EQ(r->refused_paths.size(), 1u);
  EXPECT_EQ(r->refused_paths[0].rule, "a Git hook");
  const auto none = all.find("7-c2");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failed().code, failure::unknown_session);
}

TEST(ActorsCommandRecords, AClientsOwnIdMeansTheYoungest) {
  command_records all;
  all.begin("7-c1", "x", "first", "/w", "");
  all.begin("7-c2", "x", "second", "/w", "");
  all.begin("7-c3", "7-c1", "third", "/w", "");
  EXPECT_EQ(all.find("x")->command, "second");
  EXPECT_EQ(all.find("7-c1")->command, "first") << "ours first";
}

TEST(ActorsCommandRecords, IsBounded) {
  command_records all;
  const auto id = [](std::size_t n) { return std::to_string(n); };
  for (std::size_t n = 0; n < command_records::commands_max; ++n)
    all.begin(id(n), "", std::string(100'000, 'c'), "/w", "");
  EXPECT_LT(all.find("0")->command.size(), 2000u);
  all.end("5", "now");
  all.begin("a", "", "", "/w", "");
  EXPECT_FALSE(all.find("5")) << "ended: the first to go";
  EXPECT_TRUE(all.find("0"));
  all.begin("b", "", "", "/w", "");
  EXPECT_FALSE(all.find("0")) << "the oldest";
  for (std::size_t n = 0; n < command_records::facts_max + 3; ++n)
    all.note("b", ipc::refused_path{std::string(100'000, 'p'), "rule"});
  EXPECT_EQ(all.find("b")->refused_paths.size(), command_records::facts_max);
  EXPECT_EQ(all.find("b")->left_out, 3u);
  EXPECT_LT(all.find("b")->refused_paths[0].path.size(), 2000u);
}

} // namespace
} // namespace piorch::actors
