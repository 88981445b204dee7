#include "config/paths.hpp"
#include "config/private_directory.hpp"
#include "tests/config/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::config {
namespace {

using testing::HasSubstr;

path_inputs base() {
  path_inputs in;
  in.home = "/home/u";
  in.uid = 1000;
  return in;
}

TEST(ConfigPaths, Defaults) {
  const auto p = resolve_paths(base());
  ASSERT_TRUE(p);
  EXPECT_EQ(p->home, "/home/u");
  EXPECT_EQ(p->agent_dir, "/home/u/.pi/agent");
  EXPECT_EQ(p->settings_file, "/home/u/.pi/agent/extensions/pi-sandbox/config.json");
  EXPECT_EQ(p->legacy_settings, "/home/u/.pi/agent/pi-sandbox.json");
  EXPECT_EQ(p->runtime_dir, "/tmp/piorch-1000");
  EXPECT_EQ(p->state_dir, "/home/u/.local/state/piorch");
  EXPECT_EQ(p->temp_dir, "/tmp");
}

TEST(ConfigPaths, HonoursAbsoluteVariables) {
  auto in = base();
  in.home = "/home//u/./";
  in.runtime_dir = "/run/user/1000/";
  in.state_home = "/var/s";
  in.temp_dir = "/scratch/";
  const auto p = resolve_paths(in);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->home, "/home/u");
  EXPECT_EQ(p->runtime_dir, "/run/user/1000/piorch");
  EXPECT_EQ(p->state_dir, "/var/s/piorch");
  EXPECT_EQ(p->temp_dir, "/scratch");
}

TEST(ConfigPaths, IgnoresRelativeAndEmptyVariables) {
  for (const char* value : {"", "x", "./x", "~/x"}) {
    auto in = base();
    in.runtime_dir = in.state_home = in.temp_dir = value;
    const auto p = resolve_paths(in);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->runtime_dir, "/tmp/piorch-1000");
    EXPECT_EQ(p->state_dir, "/home/u/.local/state/piorch");
    EXPECT_EQ(p->temp_dir, "/tmp");
  }
}

TEST(ConfigPaths, RuntimeDirFallsBackInOrder) {
  auto in = base();
  in.run_user_is_ours = true;
  EXPECT_EQ(resolve_paths(in)->runtime_dir, "/run/user/1000/piorch");
  in.runtime_dir = "/elsewhere";
  EXPECT_EQ(resolve_paths(in)->runtime_dir, "/elsewhere/piorch");
}

TEST(ConfigPaths, TrustedFileIgnoresTheAgentDirVariable) {
  auto in = base();
  in.agent_dir = "/srv/project/agent";
  const auto p = resolve_paths(in);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->agent_dir, "/srv/project/agent");
  EXPECT_EQ(p->settings_file, "/home/u/.pi/agent/extensions/pi-sandbox/config.json");
  in.agent_dir = "~/other/";
  EXPECT_EQ(resolve_paths(in)->agent_dir, "/home/u/other");
  in.agent_dir = "relative";
  ASSERT_FALSE(resolve_paths(in));
  EXPECT_THAT(resolve_paths(in).failed().text, HasSubstr("PI_CODING_AGENT_DIR"));
}

TEST(ConfigPaths, AnAgentDirectoryIsAbsoluteOrBelowTheHome) {
  EXPECT_EQ(*agent_directory("/srv//agent/", "/home/u"), "/srv/agent");
  EXPECT_EQ(*agent_directory("~", "/home/u"), "/home/u");
  EXPECT_EQ(*agent_directory("~/other", "/home/u"), "/home/u/other");
  for (const char* bad : {"", "agent", "./agent", "~ada/agent"}) {
    const auto dir = agent_directory(bad, "/home/u");
    ASSERT_FALSE(dir) << bad;
    EXPECT_EQ(dir.failed().code, failure::configuration_invalid);
    EXPECT_THAT(dir.failed().text, HasSubstr("PI_CODING_AGENT_DIR"));
  }
}

TEST(ConfigPaths, HomeComesFromTheUserDatabaseWhenUnset) {
  path_inputs in;
  in.passwd_home = "/home/db";
  EXPECT_EQ(resolve_paths(in)->home, "/home/db");
  in.home = "";
  EXPECT_EQ(resolve_paths(in)->home, "/home/db");
  in.passwd_home = "";
  EXPECT_EQ(resolve_paths(in).failed().code, failure::configuration_invalid);
  in.home = "relative";
  EXPECT_THAT(resolve_paths(in).failed().text, HasSubstr("HOME"));
}

TEST(ConfigPaths, RootAsHomeHasNoDoubledSlash) {
  auto in = base();
  in.home = "/";
  EXPECT_EQ(resolve_paths(in)->settings_file, "/.pi/agent/extensions/pi-sandbox/config.json");
}

TEST(ConfigPaths, HelpersAreBesideTheProgram) {
  EXPECT_EQ(libexec_dir("/usr/local/bin/piorch"), "/usr/local/libexec/piorch");
  EXPECT_EQ(libexec_dir("/opt/piorch/bin/piorch"), "/opt/piorch/libexec/piorch");
  EXPECT_EQ(libexec_dir("/bin/piorch"), "/libexec/piorch");
  EXPECT_EQ(libexec_dir("/opt/libexec/piorch/piorch-broker"), "/opt/libexec/piorch");
  const auto own = own_libexec_dir();
  ASSERT_TRUE(own);
  EXPECT_THAT(*own, HasSubstr("/libexec/piorch"));
}

TEST(ConfigPrivateDirectory, MakesItAndNotItsParents) {
  const temp_dir dir;
  const auto refused = make_private_directory(dir.path() / "a/b");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.failed().text, HasSubstr("/a: does not exist; make it, or set "));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "a"));
  const auto state = make_private_directory(dir.path() / "a/b", "XDG_STATE_HOME");
  ASSERT_FALSE(state);
  EXPECT_THAT(state.failed().text, HasSubstr("or set XDG_STATE_HOME to"));
  const std::string path = dir.path() / "b";
  ASSERT_TRUE(make_private_directory(path));
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  ASSERT_TRUE(make_private_directory(path)) << "a second time";
}

TEST(ConfigPrivateDirectory, NarrowsAWiderOne) {
  const temp_dir dir;
  const std::string path = dir.path() / "wide";
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  ASSERT_TRUE(make_private_directory(path));
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST(ConfigPrivateDirectory, RefusesLinksFilesAndOtherPeoplesDirectories) {
  const temp_dir dir;
  ASSERT_EQ(::mkdir((dir.path() / "real").c_str(), 0700), 0);
  std::filesystem::create_directory_symlink("real", dir.path() / "link");
  EXPECT_FALSE(make_private_directory(dir.path() / "link"));
  dir.write("file", "");
  EXPECT_FALSE(make_private_directory(dir.path() / "file"));
  EXPECT_FALSE(make_private_directory(dir.path() / "file/below"));
  EXPECT_FALSE(make_private_directory("relative"));
  EXPECT_FALSE(make_private_directory(""));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((dir.path() / "real").c_str(), 12345, 12345), 0);
    const auto refused = make_private_directory(dir.path() / "real");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.failed().text, HasSubstr("another user"));
  } else {
    EXPECT_FALSE(make_private_directory("/usr"));
  }
}

} // namespace
} // namespace piorch::config
