// What the tests of sessions have in common. They need Pi and Node.js from npm; where
// these cannot be had they are skipped, unless PIORCH_MUST_WORK is set.
#pragma once

#include "tests/support/session_rig.hpp"

#include <gtest/gtest.h>
#include <memory>

namespace piorch::test {

class session_fixture : public ::testing::Test {
protected:
  void SetUp() override {
    if (!pi_installed() && !std::getenv("PIORCH_MUST_WORK"))
      GTEST_SKIP() << "Pi cannot be installed here";
    ASSERT_TRUE(pi_installed()) << "Pi cannot be installed";
    rig = std::make_unique<session_rig>(model_options());
    std::ofstream(rig->workspace() + "/note.txt") << "the note\n";
  }
  void TearDown() override {
    if (!rig)
      return;
    rig->end_orchestrator(SIGTERM);
    EXPECT_TRUE(rig->within(std::chrono::seconds(5), [&] { return rig->everything().empty(); }))
        << "something that piorch started is still alive";
  }
  virtual std::vector<std::string> model_options() const { return {}; }

  // A background session that has answered its first task.
  std::string start_idle(const std::string& name) const {
    const auto started = rig->run({"start", "-d", "--name", name, "#plain ready"});
    EXPECT_EQ(started.status, 0) << started.err;
    const auto id = rig->line(started.out);
    EXPECT_EQ(rig->run({"wait", id}).out, "ready\n");
    return id;
  }
  // No private directory of a sandbox is left; that which makes the compile cache
  // may take a moment.
  bool no_litter() const {
    return rig->within(std::chrono::seconds(20), [&] { return rig->litter() == 0; });
  }
  bool has_file(const std::string& name) const {
    return std::filesystem::exists(rig->workspace() + "/" + name);
  }
  // A value: a loop over a part of a temporary would run over nothing.
  std::vector<nlohmann::json> sessions() const { return rig->json({"status"})["sessions"]; }
  std::size_t live() const {
    std::size_t count = 0;
    for (const auto& d : sessions())
      count += d["state"] != "stopped" && d["state"] != "failed" ? 1 : 0;
    return count;
  }
  // From now on somebody else stands in Pi's place (tests/support/villain_pi).
  void use_villain() const {
    const auto bin = rig->root() / "villain";
    std::filesystem::create_directory(bin);
    std::filesystem::create_symlink(PIORCH_SOURCE_DIR "/tests/support/villain_pi/pi.mjs",
                                    bin / "pi");
    rig->extra["PATH"] = bin.string() + ":" + rig->pi.environment()["PATH"];
  }
  // The most memory that a process has had.
  static std::size_t peak_mib(pid_t pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    for (std::string word; in >> word;)
      if (std::size_t kib = 0; word == "VmHWM:" && in >> kib)
        return kib >> 10;
    ADD_FAILURE() << "no orchestrator";
    return 0;
  }
  static std::vector<nlohmann::json> events(const std::string& lines) {
    std::vector<nlohmann::json> out;
    for (std::size_t at = 0; at < lines.size();) {
      const auto end = std::min(lines.find('\n', at), lines.size());
      out.push_back(nlohmann::json::parse(lines.substr(at, end - at)));
      at = end + 1;
    }
    return out;
  }

  std::unique_ptr<session_rig> rig;
};

} // namespace piorch::test
