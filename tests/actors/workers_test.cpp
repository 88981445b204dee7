// What a session's worker is started with.
#include "actors/workers.hpp"

#include "tests/support/temp_dir.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::actors {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ActorsWorkers : public testing::Test {
protected:
  ActorsWorkers() {
    for (const char* program : {"bin/node", "lib/node_modules/pi/dist/cli.js"}) {
      write(program, "#!/bin/sh\n");
      fs::permissions(root / program, fs::perms::owner_all);
    }
    write("lib/node_modules/pi/package.json", "{}");
    fs::create_symlink("../lib/node_modules/pi/dist/cli.js", root / "bin/pi");
    fs::create_directory(root / "project");
    where.home = root / "home";
    where.agent_dir = root / "home/.pi/agent";
    where.state_dir = root / "home/.local/state/piorch";
    write("home/.pi/agent/settings.json", R"({"defaultProvider": "usual"})");
    write("home/other/settings.json", R"({"defaultProvider": "other"})");
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  result<worker_job> job(const std::string& agent_dir) const {
    worker_request wanted;
    wanted.session_id = "0123456789abcdef";
    wanted.cwd = root / "project";
    wanted.env = {{"PATH", root / "bin"}, {"PI_CODING_AGENT_DIR", agent_dir}};
    return make_worker_job(wanted, where);
  }

  test::temp_dir directory;
  fs::path root = fs::canonical(directory.path());
  config::paths where;
};

TEST_F(ActorsWorkers, TheAgentDirectoryOfTheClientMeansWhatItMeansElsewhere) {
  for (const auto& [written, provider] : {std::pair<std::string, const char*>{"", "usual"},
                                          {"~/other", "other"},
                                          {root / "home/other", "other"}}) {
    const auto j = job(written);
    ASSERT_TRUE(j) << written << ": " << j.failed().text;
    EXPECT_THAT(j->text, HasSubstr(provider)) << written;
  }
  const auto j = job("home/other");
  ASSERT_FALSE(j) << "it would depend on the orchestrator's own directory";
  EXPECT_EQ(j.failed().code, failure::configuration_invalid);
  EXPECT_THAT(j.failed().text, HasSubstr("PI_CODING_AGENT_DIR"));
}

} // namespace
} // namespace piorch::actors
