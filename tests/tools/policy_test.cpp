#include "tests/tools/cli.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace piorch::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliPolicy : public Cli {
protected:
  CliPolicy() { std::filesystem::create_directories(home.path() / "app"); }
  std::string app() const { return std::filesystem::canonical(home.path()) / "app"; }

  static const json* find(const json& policy, const std::string& path) {
    for (const json& rule : policy["rules"])
      if (rule["path"] == path)
        return &rule;
    return nullptr;
  }
};

TEST_F(CliPolicy, Text) {
  home.write("app/.env", "");
  const auto r = run("policy -C app");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, HasSubstr("workspace  " + app()));
  EXPECT_THAT(r.out, HasSubstr("    .env"));
  EXPECT_THAT(r.out, Not(HasSubstr("\x1b"))) << "no colour into a file";
}

TEST_F(CliPolicy, JsonShowsWhatTheConfigurationAdds) {
  home.write("models/x", "");
  const std::string models = std::filesystem::canonical(home.path()) / "models";
  home.write(trusted, json({{"filesystem", {{"additionalAllowRead", {models}}}},
                            {"network", {{"deniedDomains", {"*.example.org"}}}},
                            {"limits", {{"processes", 17}}}})
                          .dump());
  home.write("app/.env", "");
  for (const char* words : {"policy -C app --json", "policy --cwd=app --format json"}) {
    const auto r = run(words);
    ASSERT_EQ(r.status, 0) << r.err;
    const json policy = json::parse(r.out);
    EXPECT_EQ(policy["workspace"], app());
    EXPECT_THAT(policy["settingsFile"].get<std::string>(), HasSubstr(trusted));
    ASSERT_NE(find(policy, models), nullptr);
    EXPECT_EQ((*find(policy, models))["reason"], "filesystem.additionalAllowRead");
    ASSERT_NE(find(policy, app() + "/.env"), nullptr);
    EXPECT_EQ((*find(policy, app() + "/.env"))["enforcedBy"], "mount");
    EXPECT_EQ(find(policy, app() + "/.envrc"), nullptr);
    EXPECT_EQ(policy["network"]["deniedDomains"], json({"*.example.org"}));
    EXPECT_EQ(policy["limits"]["processes"], 17);
  }
}

TEST_F(CliPolicy, ProfileAndCommandLine) {
  home.write("app/.env", "");
  const auto profile = run("policy -C app --format seatbelt");
  EXPECT_EQ(profile.status, 0) << profile.err;
  EXPECT_THAT(profile.out, StartsWith("(version 1)\n(deny default"));
  EXPECT_THAT(profile.out, HasSubstr("(subpath \"" + app() + "/.env\")"));
  const auto line = run("policy -C app --format bwrap");
  EXPECT_EQ(line.status, 0) << line.err;
  EXPECT_THAT(line.out, HasSubstr("--ro-bind " + app() + "/.env " + app() + "/.env"));
}

TEST_F(CliPolicy, Refusals) {
  const std::pair<const char*, const char*> wrong[] = {
      {"policy app", "piorch policy: takes no argument: name a directory with --cwd (see piorch "
                     "help policy)\n"},
      {"policy --format xml", "piorch policy: \"xml\" is none of text, json, bwrap and seatbelt "
                              "(see piorch help policy)\n"},
      {"policy --json --format text",
       "piorch policy: --json and --format text contradict each other (see piorch help policy)\n"},
  };
  for (const auto& [words, said] : wrong) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.err, said);
    EXPECT_EQ(r.out, "");
  }
  for (const char* words : {"policy -C nowhere", "policy -C .", "policy -C /", "policy -C /proc"}) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  home.write(trusted, R"({"network":{"allowedDomians":[]}})");
  const auto r = run("policy -C app");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("network.allowedDomians"));
}

} // namespace
} // namespace piorch::cli
