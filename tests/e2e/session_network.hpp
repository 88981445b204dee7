// Sessions whose model and whose connections are outside of this machine, as far as they can
// tell: a network namespace of the test with names and addresses of its own.
#pragma once

#include "tests/e2e/network_programs.hpp"
#include "tests/support/session_rig.hpp"

namespace piorch::test {

class session_network : public E2eNetwork {
protected:
  void SetUp() override {
    if (!pi_installed()) {
      if (std::getenv("PIORCH_MUST_WORK"))
        FAIL() << "Pi cannot be installed";
      GTEST_SKIP() << "Pi cannot be installed here";
    }
    E2eNetwork::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    // The model runs outside, everything of piorch on the host.
    const std::vector<std::string> where{"--address", web};
    outside->in([&] { rig = std::make_unique<session_rig>(where); });
    const auto file = rig->pi.agent_directory() / "models.json";
    auto models = nlohmann::json::parse(test::read_file(file));
    provider = "model.example.org:" + std::to_string(rig->pi.model_port());
    models["providers"]["scripted"]["baseUrl"] = "http://" + provider + "/v1";
    std::ofstream(file) << models;
    dns->set("model.example.org", {{"192.0.2.80"}}, 60);
    allow({});
  }
  void TearDown() override {
    if (rig)
      rig->end_orchestrator(SIGTERM);
    rig.reset();
    E2eNetwork::TearDown();
  }
  void allow(const std::vector<std::string>& domains) const {
    rig->configure(nlohmann::json({{"network", {{"allowedDomains", domains}}}}).dump());
  }

  std::unique_ptr<session_rig> rig;
  std::string provider; // host:port
};

} // namespace piorch::test
