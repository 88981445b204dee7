// Commands that wait to be allowed on the host: the client that runs them approves, and never
// answers.
#pragma once

#include "tests/e2e/session_fixture.hpp"

namespace piorch::test {

class waiting_commands : public session_fixture {
protected:
  void SetUp() override {
    session_fixture::SetUp();
    if (!rig)
      return;
    auto settings = nlohmann::json::parse(rig->configuration());
    settings["hostIPC"] = {{"mode", "ask"}, {"preflightCommandPrefixes", {"touch"}}};
    rig->configure(settings.dump());
    owner.emplace(rig->connect_private(serve, true));
  }
  void TearDown() override {
    owner.reset(); // its orchestrator ends with it
    if (serve > 0)
      ::waitpid(serve, nullptr, 0);
    session_fixture::TearDown();
  }
  void run(const std::string& command) {
    ipc::command_run_params p;
    p.id = command.substr(0, 250); // an id is no longer
    p.command = command;
    p.cwd = rig->workspace();
    owner->request(p);
    ASSERT_TRUE(owner->flush(ipc::client::clock::now() + std::chrono::seconds(10)));
  }

  pid_t serve = -1;
  std::optional<ipc::client> owner;
};

} // namespace piorch::test
