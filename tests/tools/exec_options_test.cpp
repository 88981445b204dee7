#include "tools/piorch/exec_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

exec_options good(const arguments& args) {
  auto parsed = parse_exec_options(args);
  EXPECT_TRUE(parsed) << parsed.failed().text;
  return parsed ? *parsed : exec_options{};
}

TEST(CliExecOptions, DefaultsWithACommand) {
  const auto o = good({"--", "ls", "-l", "--", "--cwd"});
  EXPECT_THAT(o.argv, ElementsAre("ls", "-l", "--", "--cwd"));
  EXPECT_FALSE(o.command_string);
  EXPECT_EQ(o.cwd, "");
  EXPECT_FALSE(o.timeout);
  EXPECT_FALSE(o.clear_env);
  EXPECT_EQ(o.ask, ask_mode::on_a_terminal);
  EXPECT_EQ(o.shell, "");
  EXPECT_EQ(o.report, "");
}

TEST(CliExecOptions, ReadsEveryOption) {
  const auto o = good({"-C",
                       "sub dir",
                       "--timeout",
                       "1.5",
                       "--allow-read",
                       "/a",
                       "--allow-read=b",
                       "--allow-domain",
                       "*.Example.org:443",
                       "--deny-domain",
                       "*",
                       "--allow-local-port",
                       "5432",
                       "--allow-local-port=1",
                       "--env",
                       "A=b=c,d",
                       "--env",
                       "E=",
                       "--env",
                       "A=2",
                       "--clear-env",
                       "--ask",
                       "--shell",
                       "/bin/bash",
                       "--report",
                       "r.json",
                       "-c",
                       "echo \"$A\"\nexit 3"});
  EXPECT_EQ(o.cwd, "sub dir");
  EXPECT_EQ(o.timeout, std::chrono::milliseconds(1500));
  EXPECT_THAT(o.allow_read, ElementsAre("/a", "b"));
  ASSERT_EQ(o.allow_domains.size(), 1u);
  EXPECT_EQ(o.allow_domains[0].text(), "*.example.org:443");
  ASSERT_EQ(o.deny_domains.size(), 1u);
  EXPECT_EQ(o.deny_domains[0].text(), "*");
  EXPECT_THAT(o.allow_local_ports, ElementsAre(5432, 1));
  EXPECT_THAT(o.env, ElementsAre(Pair("A", "b=c,d"), Pair("E", ""), Pair("A", "2")));
  EXPECT_TRUE(o.clear_env);
  EXPECT_EQ(o.ask, ask_mode::always);
  EXPECT_EQ(o.shell, "/bin/bash");
  EXPECT_EQ(o.report, "r.json");
  EXPECT_EQ(o.command_string, "echo \"$A\"\nexit 3");
  EXPECT_TRUE(o.argv.empty());
  EXPECT_EQ(good({"--no-ask", "--", "x"}).ask, ask_mode::never);
}

TEST(CliExecOptions, CommandStringMayBeAnything) {
  for (const std::string text : {"", "--", "-x", "--help", "a -- b"}) {
    const auto o = good({"-c", text});
    ASSERT_TRUE(o.command_string);
    EXPECT_EQ(*o.command_string, text);
  }
  EXPECT_EQ(good({"-c", std::string(200'000, 'x')}).command_string->size(), 200'000u);
}

TEST(CliExecOptions, HelpNamesEveryOptionOfTheContract) {
  const auto text = describe(exec_option_list);
  for (const char* name :
       {"-C, --cwd DIR", "--timeout S", "--allow-read PATH", "--allow-domain P", "--deny-domain P",
        "--allow-local-port N", "--env N=V", "--clear-env", "--ask", "--no-ask", "--shell PATH",
        "--report FILE", "-c, --command STRING", "-h, --help"})
    EXPECT_THAT(text, HasSubstr(name));
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LE(end - at, 100u) << text.substr(at, end - at);
  }
}

TEST(CliExecOptions, Timeouts) {
  const std::pair<const char*, int> good_ones[] = {{"1", 1000},    {"0.001", 1},  {"0.5", 500},
                                                   {"2.25", 2250}, {"007", 7000}, {".5", 500}};
  for (const auto& [text, ms] : good_ones)
    EXPECT_EQ(good({"--timeout", text, "--", "x"}).timeout, std::chrono::milliseconds(ms)) << text;
  for (const char* text : {"", "0", "0.0", "-1", "+1", "1.", ".", ".0", "1.2345", "1e3", "5s", " 1",
                           "1 ", "inf", "nan", "0x10", "31536001", "99999999999999999999", "1.2.3"})
    EXPECT_FALSE(parse_exec_options({"--timeout", text, "--", "x"})) << text;
}

TEST(CliExecOptions, RefusalsNameTheOptionAndWhatItAccepts) {
  struct {
    arguments args;
    const char* says;
  } const cases[] = {
      {{}, "give -- CMD [ARG…] or -c STRING"},
      {{"--"}, "no command"},
      {{"--", ""}, "empty word"},
      {{"ls", "-l"}, "unknown option -l"},
      {{"ls"}, "unexpected \"ls\": put -- before the command"},
      {{"ls", "--", "x"}, "put -- before"},
      {{"-c", "x", "--", "y"}, "not both"},
      {{"-c", "x", "-c", "y"}, "-c is given twice"},
      {{"-c"}, "missing an argument"},
      {{"--ask", "--no-ask", "--", "x"}, "--ask and --no-ask exclude each other"},
      {{"--cwd", "--", "x"}, "put -- before"}, // "--" is the value here, as getopt has it
      {{"--cwd=", "--", "x"}, "--cwd is empty"},
      {{"--allow-read=", "--", "x"}, "--allow-read is empty"},
      {{"--report=", "--", "x"}, "--report is empty"},
      {{"--shell=", "-c", "x"}, "--shell is empty"},
      {{"--shell", "bash", "-c", "x"}, "absolute path"},
      {{"--shell", "/bin/sh", "--", "x"}, "for -c STRING only"},
      {{"--env", "A", "--", "x"}, "NAME=VALUE"},
      {{"--env", "=b", "--", "x"}, "NAME=VALUE"},
      {{"--allow-local-port", "0", "--", "x"}, "from 1 to 65535"},
      {{"--allow-local-port", "65536", "--", "x"}, "from 1 to 65535"},
      {{"--allow-local-port", "80,81", "--", "x"}, "from 1 to 65535"},
      {{"--allow-local-port", "-1", "--", "x"}, "from 1 to 65535"},
      {{"--allow-local-port", "41080", "--", "x"}, "the sandbox's own proxy"},
      {{"--env", "A B=c", "--", "x"}, "\"A B\" cannot be the name of a variable"},
      {{"--report", "-", "--", "x"}, "a file is needed"},
      {{"--allow-domain", "*", "--", "x"}, "--allow-domain: \"*\" would allow every host"},
      {{"--allow-domain", "foo.*", "--", "x"}, "*.example.com"},
      {{"--deny-domain", "", "--", "x"}, "--deny-domain: \"\" is empty"},
      {{"--alow-read", "/a", "--", "x"}, "did you mean --allow-read?"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_exec_options(c.args);
    ASSERT_FALSE(parsed) << c.says;
    EXPECT_EQ(parsed.failed().code, failure::usage);
    EXPECT_THAT(parsed.failed().text, HasSubstr(c.says));
    EXPECT_EQ(parsed.failed().text.find('\n'), std::string::npos);
  }
}

} // namespace
} // namespace piorch::cli
