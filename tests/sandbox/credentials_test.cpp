#include "sandbox/credentials.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// tools/pi-extension/test/environment.test.ts reads the same list: there are two programs and one
// rule.
TEST(SandboxCredentials, AreKnownByTheirNamesAndValues) {
  std::ifstream file(PIORCH_SOURCE_DIR "/tests/sandbox/credential_names.json");
  const auto list = nlohmann::json::parse(file);
  for (const auto& [name, value] : list.at("withheld").items())
    EXPECT_TRUE(is_credential(name, value.get<std::string>())) << name;
  for (const auto& [name, value] : list.at("passed").items())
    EXPECT_FALSE(is_credential(name, value.get<std::string>())) << name;
}

TEST(SandboxCredentials, AProviderHasItsOwn) {
  EXPECT_THAT(variables_of_provider("anthropic", "").beginnings, ElementsAre("ANTHROPIC_"));
  EXPECT_THAT(variables_of_provider("openai-codex", "").beginnings, ElementsAre("OPENAI_"));
  EXPECT_THAT(variables_of_provider("google-vertex", "").beginnings,
              ElementsAre("GEMINI_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_"));
  EXPECT_TRUE(variables_of_provider("", "").beginnings.empty());
  const char* models =
      R"({"providers":{"local":{"apiKey":"$MY_KEY"},"plain":{"apiKey":"sk-x.y"}}})";
  EXPECT_THAT(variables_of_provider("local", models).names, ElementsAre("MY_KEY"));
  EXPECT_THAT(variables_of_provider("plain", models).names, IsEmpty());
  EXPECT_THAT(variables_of_provider("local", "garbage").beginnings, ElementsAre("LOCAL_"));
}

TEST(SandboxCredentials, OnlyThoseOfTheProviderStay) {
  environment e({"PATH=/bin", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "MINE_TOKEN=c"});
  remove_credentials(e, {{"MINE_TOKEN", "OPENAI_"}, {"ANTHROPIC_"}}); // a name is a whole name
  EXPECT_THAT(e.entries(), ElementsAre("PATH=/bin", "ANTHROPIC_API_KEY=a", "MINE_TOKEN=c"));
}

} // namespace
} // namespace piorch::sandbox
