#include "config/paths.hpp"
#include "config/settings.hpp"
#include "tests/config/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ConfigSettingsFile : public testing::Test {
protected:
  void SetUp() override {
    path_inputs in;
    in.home = home.path();
    where = *resolve_paths(in);
  }
  void write(const std::string& file, const std::string& text) {
    home.write(std::filesystem::relative(file, home.path()), text);
  }
  std::uint64_t processes() {
    auto loaded = load_settings(where);
    EXPECT_TRUE(loaded) << loaded.failed().text;
    return loaded ? loaded->values.limits.processes : 0;
  }

  temp_dir home;
  paths where;
};

TEST_F(ConfigSettingsFile, NoFileMeansDefaults) {
  const auto loaded = load_settings(where);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->file, "");
  EXPECT_EQ(settings_json(loaded->values), settings_json(settings{}));
}

TEST_F(ConfigSettingsFile, NewFileThenLegacyFile) {
  write(where.legacy_settings, R"({"limits": {"processes": 7}})");
  EXPECT_EQ(processes(), 7u);
  EXPECT_EQ(load_settings(where)->file, where.legacy_settings);
  write(where.settings_file, R"({"limits": {"processes": 8}})");
  EXPECT_EQ(processes(), 8u);
  EXPECT_EQ(load_settings(where)->file, where.settings_file);
}

TEST_F(ConfigSettingsFile, WhatAnyoneElseCanWriteIsRefused) {
  write(where.settings_file, "{}");
  ASSERT_TRUE(load_settings(where));
  ASSERT_EQ(::chmod(where.settings_file.c_str(), 0666), 0);
  EXPECT_FALSE(load_settings(where));
  ASSERT_EQ(::chmod(where.settings_file.c_str(), 0644), 0);
  const auto directory = std::filesystem::path(where.settings_file).parent_path();
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  const auto loaded = load_settings(where);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.failed().text, HasSubstr("every user"));
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_TRUE(load_settings(where));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(where.settings_file.c_str(), 12345, 0), 0);
    EXPECT_FALSE(load_settings(where));
  }
}

TEST_F(ConfigSettingsFile, UnusableFileIsNeverPassedOver) {
  write(where.legacy_settings, "{}");
  const auto expect_refusal = [&](const char* why) {
    const auto loaded = load_settings(where);
    ASSERT_FALSE(loaded) << why;
    EXPECT_EQ(loaded.failed().code, failure::configuration_invalid);
    EXPECT_THAT(loaded.failed().text, StartsWith(where.settings_file + ": "));
    EXPECT_THAT(loaded.failed().text, HasSubstr(why));
    ASSERT_EQ(std::filesystem::remove_all(where.settings_file) > 0, true);
  };
  write(where.settings_file, "");
  expect_refusal("malformed JSON");
  std::filesystem::create_directories(where.settings_file);
  expect_refusal("not a regular file");
  ASSERT_EQ(::mkfifo(where.settings_file.c_str(), 0600), 0);
  expect_refusal("not a regular file");
  std::filesystem::create_symlink("nowhere", where.settings_file);
  expect_refusal("cannot be read");
  std::filesystem::create_symlink(where.settings_file, where.settings_file);
  expect_refusal("cannot be read");
  std::filesystem::create_symlink("/dev/zero", where.settings_file);
  expect_refusal("not a regular file");
  write(where.settings_file, std::string((1u << 20) + 1, ' '));
  expect_refusal("larger than");
  if (::geteuid() != 0) { // root reads it all the same
    write(where.settings_file, "{}");
    ASSERT_EQ(::chmod(where.settings_file.c_str(), 0), 0);
    expect_refusal("cannot be read: Permission denied");
  }
  EXPECT_EQ(load_settings(where)->file, where.legacy_settings);
}

TEST_F(ConfigSettingsFile, FollowsALinkToARealFile) {
  write(where.home + "/dotfiles.json", R"({"limits": {"processes": 9}})");
  std::filesystem::create_directories(std::filesystem::path(where.settings_file).parent_path());
  std::filesystem::create_symlink(where.home + "/dotfiles.json", where.settings_file);
  EXPECT_EQ(processes(), 9u);
}

TEST_F(ConfigSettingsFile, FileInPlaceOfADirectoryIsNoConfiguration) {
  write(where.home + "/.pi", "");
  const auto loaded = load_settings(where);
  ASSERT_TRUE(loaded) << loaded.failed().text;
  EXPECT_EQ(loaded->file, "");
}

TEST_F(ConfigSettingsFile, NothingOfAProjectIsRead) {
  // The names a project would use, in the current directory.
  const auto before = std::filesystem::current_path();
  home.write("project/.pi/sandbox.json", R"({"limits": {"processes": 1}})");
  home.write("project/.pi/agent/pi-sandbox.json", R"({"limits": {"processes": 1}})");
  home.write("project/pi-sandbox.json", "not json");
  std::filesystem::current_path(home.path() / "project");
  EXPECT_EQ(load_settings(where)->file, "");
  std::filesystem::current_path(before);
}

} // namespace
} // namespace piorch::config
