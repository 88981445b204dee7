#include "actors/event_lines.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace piorch::actors;

namespace {

event_piece block_of(std::uint64_t first, std::uint64_t count, std::size_t size = 100) {
  event_block b("5e55", first);
  for (auto seq = first; seq < first + count; ++seq)
    b.add(seq,
          "{\"seq\":" + std::to_string(seq) + ",\"event\":\"" + std::string(size, 'x') + "\"}");
  return b.take();
}

std::uint64_t first_line(const event_piece& p) {
  const auto text = p.lines.view();
  return nlohmann::json::parse(text.substr(0, text.find('\n')))["params"]["seq"];
}

} // namespace

TEST(EventRing, GivesTheSameBytesToEverybody) {
  event_ring r;
  ASSERT_TRUE(r.at(1));
  EXPECT_TRUE(r.at(1)->empty());
  EXPECT_TRUE(r.at(5000)->empty());
  r.push(block_of(1, 10));
  r.push(block_of(11, 5));
  const auto all = *r.at(1);
  EXPECT_EQ(all.next, 11u);
  EXPECT_EQ(all.lines.view().data(), r.at(1)->lines.view().data()) << "not copied";
  const auto rest = *r.at(7);
  EXPECT_EQ(rest.first, 7u);
  EXPECT_EQ(rest.next, 11u);
  EXPECT_EQ(first_line(rest), 7u);
  EXPECT_GT(rest.lines.view().data(), all.lines.view().data());
  EXPECT_LT(rest.lines.view().data(), all.lines.view().data() + all.lines.size());
  EXPECT_EQ(first_line(*r.at(11)), 11u);
  EXPECT_TRUE(r.at(16)->empty());
}

TEST(EventRing, ForgetsTheOldestAndKeepsTheNewest) {
  event_ring r(1000);
  for (std::uint64_t i = 1; i <= 100; ++i)
    r.push(block_of(i, 1));
  EXPECT_FALSE(r.at(1));
  EXPECT_FALSE(r.at(r.first_seq() - 1));
  EXPECT_GT(r.first_seq(), 90u);
  EXPECT_EQ(first_line(*r.at(r.first_seq())), r.first_seq());
  r.push(block_of(101, 1, 5000));
  EXPECT_EQ(r.first_seq(), 101u);
  EXPECT_EQ(first_line(*r.at(101)), 101u);
  EXPECT_EQ(r.next_seq(), 102u);
}

TEST(EventLines, AreTheNotificationsOfTheProtocol) {
  event_block b("5e55", 4);
  EXPECT_TRUE(b.empty());
  b.add(4, R"({"seq":4,"time":"now","event":{"type":"x"}})");
  const auto p = b.take();
  EXPECT_EQ(p.first, 4u);
  EXPECT_EQ(p.next, 5u);
  EXPECT_EQ(
      p.lines.view(),
      R"({"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"5e55","seq":4,"time":"now","event":{"type":"x"}}})"
      "\n");
  EXPECT_TRUE(b.take().empty());
}
