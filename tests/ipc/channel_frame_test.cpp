#include "ipc/channel_frame.hpp"

#include "config/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace piorch::ipc {
namespace {

using seen = std::pair<frame_type, std::string>;

std::vector<seen> cut(frame_parser& in, const std::string& bytes, std::size_t piece) {
  std::vector<seen> out;
  for (std::size_t at = 0; at < bytes.size() && !in.broken();) {
    const auto space = in.prepare();
    const std::size_t n = std::min({piece, space.size, bytes.size() - at});
    std::memcpy(space.begin, bytes.data() + at, n);
    in.commit(n);
    at += n;
    while (const auto f = in.next())
      out.emplace_back(f->type, f->payload);
  }
  return out;
}

TEST(IpcChannelFrame, CutsTheSameFramesWhateverThePieces) {
  const std::string big(limits::channel_chunk_bytes, 'x');
  std::string bytes;
  append_frame(bytes, frame_type::job, "{}");
  append_frame(bytes, frame_type::started, "");
  append_frame(bytes, frame_type::output, big);
  append_frame(bytes, frame_type::credit, credit_payload(70000));
  const std::vector<seen> expected{{frame_type::job, "{}"},
                                   {frame_type::started, ""},
                                   {frame_type::output, big},
                                   {frame_type::credit, credit_payload(70000)}};
  for (std::size_t piece : {1u, 4u, 5u, 6u, 1000u, 1u << 20}) {
    frame_parser in;
    EXPECT_EQ(cut(in, bytes, piece), expected) << piece;
    EXPECT_TRUE(in.at_boundary());
  }
  EXPECT_EQ(read_credit(credit_payload(70000)), 70000u);
  EXPECT_FALSE(read_credit("123"));
}

TEST(IpcChannelFrame, RefusesUnknownTypesAndLyingLengthsBeforeTheirBytesCome) {
  frame_parser unknown;
  cut(unknown, std::string("\1\0\0\0\x99", 5), 5);
  EXPECT_NE(unknown.broken(), nullptr);
  frame_parser huge;
  cut(huge, std::string("\xff\xff\xff\xff\x21", 5), 5);
  EXPECT_NE(huge.broken(), nullptr);
  frame_parser zero;
  cut(zero, std::string(5, '\0'), 5);
  EXPECT_NE(zero.broken(), nullptr);
  frame_parser half;
  cut(half,
      std::string("\5\0\0\0\x21"
                  "abc",
                  8),
      8);
  EXPECT_EQ(half.broken(), nullptr);
  EXPECT_FALSE(half.at_boundary());
}

TEST(IpcChannelFrame, TakesALargeJobAndGivesItsMemoryBack) {
  std::string bytes;
  const std::string job(20u << 20, 'j');
  append_frame(bytes, frame_type::job, job);
  frame_parser in;
  const auto got = cut(in, bytes, 1u << 20);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].second, job);
  EXPECT_LE(in.prepare().size, 1u << 20);
}

} // namespace
} // namespace piorch::ipc
