#include "ipc/base64.hpp"

#include <gtest/gtest.h>

namespace piorch::ipc {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(IpcBase64, MatchesTheVectorsOfTheRfc) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(IpcBase64, GivesEveryByteBack) {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  for (std::size_t n = 0; n <= all.size(); ++n)
    EXPECT_EQ(decode_base64(encoded(all.substr(0, n))), all.substr(0, n));
}

TEST(IpcBase64, RefusesWhatNoEncoderWrites) {
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zm9v\n", "Zm 9",
                          "Zg==Zg==", "Zh==", "Zm9=", "Zm9\xff"})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

} // namespace
} // namespace piorch::ipc
