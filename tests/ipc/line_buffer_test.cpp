#include "ipc/line_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace piorch::ipc {
namespace {

using kind = line_buffer::kind;
struct seen {
  kind what;
  std::string text;
  bool operator==(const seen& o) const { return what == o.what && text == o.text; }
};

// Feeds `bytes` in pieces of `piece` and collects what comes out.
std::vector<seen> cut(line_buffer& in, const std::string& bytes, std::size_t piece) {
  std::vector<seen> out;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto space = in.prepare(piece);
    const std::size_t n = std::min({piece, space.size, bytes.size() - at});
    std::memcpy(space.begin, bytes.data() + at, n);
    in.commit(n);
    at += n;
    while (const auto line = in.next())
      out.push_back({line->what, std::string(line->text)});
  }
  return out;
}

TEST(IpcLineBuffer, CutsTheSameLinesWhateverThePieces) {
  const std::string bytes = "one\n\ntwo\r\nthree three three\nhalf";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    line_buffer in(64);
    const std::vector<seen> expected{{kind::complete, "one"},
                                     {kind::complete, ""},
                                     {kind::complete, "two\r"},
                                     {kind::complete, "three three three"}};
    EXPECT_EQ(cut(in, bytes, piece), expected) << piece;
    const auto half = in.finish();
    ASSERT_TRUE(half) << piece;
    EXPECT_EQ(half->what, kind::partial);
    EXPECT_EQ(half->text, "half");
    EXPECT_FALSE(in.finish());
  }
}

TEST(IpcLineBuffer, TakesALineOfExactlyTheLimit) {
  for (std::size_t piece : {1u, 7u, 100u}) {
    line_buffer in(10);
    const std::vector<seen> expected{{kind::complete, "0123456789"}, {kind::complete, "x"}};
    EXPECT_EQ(cut(in, "0123456789\nx\n", piece), expected);
  }
}

TEST(IpcLineBuffer, ReportsAnOversizedLineOnceAndGoesOnBehindIt) {
  const std::string bytes = "a\n" + std::string(1000, 'x') + "\nb\n";
  for (std::size_t piece : {1u, 3u, 11u, 64u, 2000u}) {
    line_buffer in(10);
    const std::vector<seen> expected{
        {kind::complete, "a"}, {kind::oversized, ""}, {kind::complete, "b"}};
    EXPECT_EQ(cut(in, bytes, piece), expected) << piece;
  }
}

TEST(IpcLineBuffer, ReportsAnEndlessLineBeforeItsEnd) {
  line_buffer in(10);
  EXPECT_EQ(cut(in, std::string(11, 'x'), 4), (std::vector<seen>{{kind::oversized, ""}}));
  EXPECT_FALSE(in.finish()) << "it was reported already";
}

TEST(IpcLineBuffer, DoesNotHoldWhatItSkips) {
  constexpr std::size_t limit = 1u << 20;
  line_buffer in(limit);
  const std::string chunk(64u << 10, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 4096; ++i) { // 256 MiB in one line
    const auto space = in.prepare(chunk.size());
    std::memcpy(space.begin, chunk.data(), std::min(space.size, chunk.size()));
    in.commit(std::min(space.size, chunk.size()));
    while (in.next()) {
    }
    most = std::max(most, in.capacity());
  }
  EXPECT_LE(most, limit + (512u << 10));
  in.prepare(1);
  EXPECT_LE(in.capacity(), 256u << 10) << "the memory of a rare long line is given back";
}

} // namespace
} // namespace piorch::ipc
