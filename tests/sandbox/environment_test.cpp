#include "sandbox/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST(SandboxEnvironment, KeepsOnlyVariables) {
  const environment e({"A=1", "no-equals", "=C:=x", "B="});
  EXPECT_THAT(e.entries(), ElementsAre("A=1", "B="));
  EXPECT_EQ(e.value("A"), "1");
  EXPECT_EQ(e.value("AB"), "");
  EXPECT_EQ(e.find("A1"), nullptr);
  ASSERT_NE(e.find("B"), nullptr);
}

TEST(SandboxEnvironment, ANameOccursOnceAfterItWasSet) {
  environment e({"A=1", "AB=2", "A=3"});
  e.set("A", "x=y");
  EXPECT_THAT(e.entries(), ElementsAre("AB=2", "A=x=y"));
  e.set_default("AB", "no");
  e.set_default("C", "yes");
  EXPECT_EQ(e.value("AB"), "2");
  EXPECT_EQ(e.value("C"), "yes");
  e.unset("A");
  EXPECT_EQ(e.find("A"), nullptr);
}

TEST(SandboxEnvironment, MinimalIsEnoughToStart) {
  const environment e = minimal(environment({"HOME=/h", "SECRET=s", "LD_PRELOAD=/x", "TERM=dumb"}));
  EXPECT_THAT(e.entries(),
              UnorderedElementsAre("HOME=/h", "TERM=dumb", "PATH=/usr/local/bin:/usr/bin:/bin"));
}

TEST(SandboxEnvironment, PiorchsOwnIsTakenOutAndTheSandboxsPutIn) {
  environment e({"PIORCH_TOKEN=secret", "PIORCH_SANDBOX=0", "TMPDIR=/host", "TMP=/host",
                 "TEMP=/host", "XDG_CACHE_HOME=/mine", "PIO=kept"});
  prepare_for_sandbox(e, "/tmp/scratch");
  EXPECT_THAT(e.entries(), Not(Contains(StartsWith("PIORCH_TOKEN"))));
  EXPECT_EQ(e.value("PIORCH_SANDBOX"), "1");
  for (const char* name : {"TMPDIR", "TMP", "TEMP"})
    EXPECT_EQ(e.value(name), "/tmp/scratch");
  EXPECT_EQ(e.value("XDG_CACHE_HOME"), "/mine") << "the caller's choice";
  EXPECT_EQ(e.value("npm_config_cache"), "/tmp/scratch/npm-cache");
  EXPECT_EQ(e.value("PIO"), "kept");
}

TEST(SandboxEnvironment, WithoutAPrivateDirectoryNoneIsNamed) {
  environment e({"TMPDIR=/host", "TMP=/host"});
  prepare_for_sandbox(e, "");
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "npm_config_cache"})
    EXPECT_EQ(e.find(name), nullptr) << name;
}

} // namespace
} // namespace piorch::sandbox
