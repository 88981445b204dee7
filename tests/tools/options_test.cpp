#include "tools/piorch/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr option table[] = {
    {'C', "cwd", "DIR", "where"},
    {'c', "command", "STRING", "what"},
    {'d', "background", "", "do not wait"},
    {'j', "json", "", "JSON"},
    {0, "env", "N=V", "a variable\nof several"},
};

parsed_options good(const arguments& args) {
  auto parsed = parse_options(table, args);
  EXPECT_TRUE(parsed) << parsed.failed().text;
  return parsed ? *parsed : parsed_options{};
}

std::string refusal(const arguments& args) {
  const auto parsed = parse_options(table, args);
  if (parsed)
    return {};
  EXPECT_EQ(parsed.failed().code, failure::usage);
  EXPECT_EQ(parsed.failed().text.find('\n'), std::string::npos);
  return parsed.failed().text;
}

TEST(CliOptions, EveryWayToGiveAValue) {
  for (const arguments& args : {arguments{"--cwd", "/x y"},
                                {"--cwd=/x y"},
                                {"-C", "/x y"},
                                {"-C/x y"},
                                {"-djC", "/x y"},
                                {"-djC/x y"}})
    EXPECT_EQ(*good(args).last("cwd"), "/x y") << args[0];
}

TEST(CliOptions, ValuesAreVerbatim) {
  for (const std::string value :
       {"", "-", "--", "-x", "--cwd", "a=b=c", "a,b,c", "a\nb", "\xff", "=", "  "}) {
    EXPECT_EQ(*good({"-c", value}).last("command"), value);
    EXPECT_EQ(*good({"--command", value}).last("command"), value);
    EXPECT_EQ(*good({"--command=" + value}).last("command"), value);
  }
  const std::string large(200'000, 'x');
  EXPECT_EQ(*good({"-c", large}).last("command"), large);
  EXPECT_EQ(*good({"--command=" + large}).last("command"), large);
  EXPECT_THAT(good({large}).words, ElementsAre(large));
}

TEST(CliOptions, KeepsTheOrderAndTheLastWins) {
  const auto parsed = good({"--env", "A=1,2", "-C", "a", "--env=B=2", "-Cb"});
  EXPECT_THAT(parsed.all("env"), ElementsAre("A=1,2", "B=2"));
  EXPECT_EQ(*parsed.last("cwd"), "b");
  EXPECT_EQ(parsed.last("command"), nullptr);
  EXPECT_FALSE(parsed.has("json"));
}

TEST(CliOptions, EverythingAfterTheSeparatorIsVerbatim) {
  const auto parsed = good({"-d", "word", "--", "--env", "-x", "--", "--help", ""});
  EXPECT_TRUE(parsed.separated);
  EXPECT_TRUE(parsed.has("background"));
  EXPECT_THAT(parsed.words, ElementsAre("word"));
  EXPECT_THAT(parsed.rest, ElementsAre("--env", "-x", "--", "--help", ""));
  EXPECT_TRUE(good({"--"}).separated);
  EXPECT_FALSE(good({"a"}).separated);
}

TEST(CliOptions, SeparatorCanBeAValue) {
  const auto parsed = good({"-c", "--", "--", "x"});
  EXPECT_EQ(*parsed.last("command"), "--");
  EXPECT_THAT(parsed.rest, ElementsAre("x"));
}

TEST(CliOptions, WordsMayStandBetweenOptions) {
  const auto parsed = good({"a", "-d", "b", "-", "--json", ""});
  EXPECT_THAT(parsed.words, ElementsAre("a", "b", "-", ""));
  EXPECT_TRUE(parsed.has("background"));
  EXPECT_TRUE(parsed.has("json"));
  EXPECT_THAT(parsed.rest, IsEmpty());
}

TEST(CliOptions, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal({"--foo"}), HasSubstr("unknown option --foo"));
  EXPECT_THAT(refusal({"--foo=bar"}), HasSubstr("unknown option --foo"));
  EXPECT_THAT(refusal({"--jsno"}), HasSubstr("did you mean --json?"));
  EXPECT_THAT(refusal({"-x"}), HasSubstr("unknown option -x"));
  EXPECT_THAT(refusal({"-dx"}), HasSubstr("unknown option -x"));
  EXPECT_THAT(refusal({"---"}), HasSubstr("unknown option"));
  EXPECT_THAT(refusal({"--j"}), HasSubstr("unknown option")) << "no abbreviations";
  EXPECT_THAT(refusal({"-\x1b[2J"}), HasSubstr("-\\x1b[2J"));
  EXPECT_EQ(refusal({"--json=1"}), "option --json takes no value");
  EXPECT_EQ(refusal({"--json=false"}), "option --json takes no value");
}

TEST(CliOptions, RefusesAMissingValue) {
  EXPECT_THAT(refusal({"--cwd"}), HasSubstr("cwd"));
  EXPECT_THAT(refusal({"-C"}), HasSubstr("missing an argument"));
  EXPECT_THAT(refusal({"-dC"}), HasSubstr("missing an argument"));
}

TEST(CliOptions, HelpIsFoundWhateverElseIsWrong) {
  EXPECT_TRUE(wants_help(table, {"--help"}));
  EXPECT_TRUE(wants_help(table, {"-h"}));
  EXPECT_TRUE(wants_help(table, {"-dh"}));
  EXPECT_TRUE(wants_help(table, {"--nonsense", "x", "--help"}));
  EXPECT_FALSE(wants_help(table, {"--", "--help"}));
  EXPECT_FALSE(wants_help(table, {"-c", "--help"}));
  EXPECT_FALSE(wants_help(table, {"--env=--help"}));
  EXPECT_FALSE(wants_help(table, {"-c-h"}));
  EXPECT_FALSE(wants_help(table, {}));
}

TEST(CliOptions, DescribesEveryOption) {
  const auto text = describe(table);
  for (const char* expected : {"  -C, --cwd DIR", "      --env N=V", "  -h, --help"})
    EXPECT_THAT(text, HasSubstr(expected));
  EXPECT_THAT(text, HasSubstr("a variable\n                              of several\n"));
}

} // namespace
} // namespace piorch::cli
