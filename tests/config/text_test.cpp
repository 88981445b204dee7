#include "config/text.hpp"

#include <gtest/gtest.h>

namespace piorch::config {
namespace {

TEST(ConfigText, PrintableLeavesNothingForTheTerminal) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"
                      "e \xe6\x97\xa5 \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f"
            "e \xe6\x97\xa5 \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\t\x7f"), "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b"
            "31m")
      << "C1 control sequence introducer";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(printable("\xd8\x9c"), "\\xd8\\x9c") << "Arabic letter mark";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97") << "cut";
}

TEST(ConfigText, PrintableIsBounded) {
  EXPECT_LT(in_quotes(std::string(100000, 'x')).size(), 100u);
  EXPECT_LT(in_quotes(std::string(100000, '\x01')).size(), 100u);
}

TEST(ConfigText, NearestFindsTypingErrorsOnly) {
  const std::vector<std::string_view> names = {"exec", "start", "status", "stop", "follow-up"};
  EXPECT_EQ(nearest("exce", names), "exec");
  EXPECT_EQ(nearest("EXEC", names), "exec");
  EXPECT_EQ(nearest("statsu", names), "status");
  EXPECT_EQ(nearest("followup", names), "follow-up");
  EXPECT_EQ(nearest("frobnicate", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(10000, 'x'), names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(ConfigText, Trims) {
  EXPECT_EQ(trimmed(" \t a b \r\n"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(lower_case("AbZ-\xc3\x9c"), "abz-\xc3\x9c");
}

} // namespace
} // namespace piorch::config
