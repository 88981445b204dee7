#include "sandbox/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(SandboxCredentials, AreKnownByTheirNames) {
  for (const char* name :
       {"OPENAI_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "DB_PASSWORD", "SSH_AUTH_SOCK", "NPM_TOKEN",
        "npm_config__authToken", "AWS_SECRET_ACCESS_KEY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
        "DOCKER_HOST", "BASH_ENV", "BASH_FUNC_x%%", "PIORCH_KEEP_ENV", "github_pat"})
    EXPECT_TRUE(is_credential(name, "x")) << name;
  for (const char* name : {"PATH", "HOME", "PWD", "OLDPWD", "MONKEY", "KEYBOARD", "TOKENIZER_DIR",
                           "LANG", "NODE_OPTIONS", "PI_CODING_AGENT_DIR", "npm_config_registry"})
    EXPECT_FALSE(is_credential(name, "x")) << name;
}

TEST(SandboxCredentials, AUrlWithAPasswordIsOneWhateverItsName) {
  EXPECT_TRUE(is_credential("DATABASE_URL", "postgres://user:pw@db.example.org/x"));
  EXPECT_TRUE(is_credential("X", "https://:pw@example.org"));
  EXPECT_FALSE(is_credential("X", "https://user@example.org"));
  EXPECT_FALSE(is_credential("X", "https://example.org/a:b@c"));
  EXPECT_FALSE(is_credential("X", "://"));
  EXPECT_FALSE(is_credential("X", ""));
}

TEST(SandboxCredentials, AProviderHasItsOwn) {
  EXPECT_THAT(variables_of_provider("anthropic", ""), ElementsAre("ANTHROPIC_"));
  EXPECT_THAT(variables_of_provider("openai-codex", ""), ElementsAre("OPENAI_"));
  EXPECT_THAT(variables_of_provider("google-vertex", ""), ElementsAre("GEMINI_", "GOOGLE_"));
  EXPECT_TRUE(variables_of_provider("", "").empty());
  const char* models =
      R"({"providers":{"local":{"apiKey":"$MY_KEY"},"plain":{"apiKey":"sk-x.y"}}})";
  EXPECT_THAT(variables_of_provider("local", models), Contains("MY_KEY"));
  EXPECT_THAT(variables_of_provider("plain", models), ElementsAre("PLAIN_"));
  EXPECT_THAT(variables_of_provider("local", "garbage"), ElementsAre("LOCAL_"));
}

TEST(SandboxCredentials, OnlyThoseOfTheProviderStay) {
  environment e({"PATH=/bin", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "MINE_TOKEN=c"});
  remove_credentials(e, {"ANTHROPIC_", "MINE_TOKEN"});
  EXPECT_THAT(e.entries(), ElementsAre("PATH=/bin", "ANTHROPIC_API_KEY=a", "MINE_TOKEN=c"));
}

} // namespace
} // namespace piorch::sandbox
