// The man pages say everything that help and the configuration know, and are well formed.
#include "tests/tools/cli.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <regex>

namespace piorch::cli {
namespace {

using testing::HasSubstr;

class CliManPages : public Cli {
protected:
  // The text of a page without its markup.
  static std::string page(const std::string& name) {
    auto text = test::read_file(PIORCH_SOURCE_DIR "/docs/man/" + name);
    EXPECT_FALSE(text.empty()) << name;
    text = std::regex_replace(text, std::regex("\\\\f[A-Z]"), "");
    text = std::regex_replace(text, std::regex("\\\\"), "");
    return text;
  }
  static std::vector<std::string> all(const std::string& text, const std::string& pattern) {
    const std::regex what(pattern);
    std::vector<std::string> out;
    for (std::sregex_iterator i(text.begin(), text.end(), what), end; i != end; ++i)
      out.push_back((*i)[1]);
    EXPECT_FALSE(out.empty());
    return out;
  }
};

TEST_F(CliManPages, EveryCommandAndItsOptions) {
  const auto text = page("piorch.1");
  for (const auto& name : all(run("help").out, "\n  ([a-z-]+) +[a-z`]")) {
    EXPECT_THAT(text, testing::ContainsRegex("\n.B[RI]? (piorch )?\"?" + name)) << name;
    if (name != "exec") // has a page of its own
      for (const auto& option : all(run("help " + name).out, "(--[a-z-]+)"))
        if (option != "--help" && option != "--words") {
          EXPECT_THAT(text, HasSubstr(option)) << name;
        }
  }
}

TEST_F(CliManPages, EveryOptionOfExec) {
  const auto text = page("piorch-exec.1");
  for (const auto& option : all(run("help exec").out, "(--[a-z-]+)"))
    if (option != "--help") {
      EXPECT_THAT(text, HasSubstr(option));
    }
}

TEST_F(CliManPages, EveryKeyOfTheConfiguration) {
  const auto text = page("piorch-config.5");
  const auto defaults = nlohmann::json::parse(run("config show --json").out);
  for (const auto& section : defaults.items())
    for (const auto& key : section.value().items())
      EXPECT_THAT(text, HasSubstr(section.key() + "." + key.key()));
}

TEST_F(CliManPages, AreWellFormed) {
  if (std::system("command -v groff >/dev/null") != 0 && !std::getenv("PIORCH_MUST_WORK"))
    GTEST_SKIP() << "no groff here";
  for (const char* name : {"piorch.1", "piorch-exec.1", "piorch-config.5"}) {
    const std::string line = "groff -man -ww -z -Tutf8 '" PIORCH_SOURCE_DIR "/docs/man/" +
                             std::string(name) + "' 2>'" + home.path().string() + "/err'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(test::read_file(home.path() / "err"), "");
  }
}

} // namespace
} // namespace piorch::cli
