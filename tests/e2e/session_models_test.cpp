// What a model, or a program in Pi's place, may do to its session: each is told as what
// it was, costs a bounded amount of memory, and nobody else notices.
#include "tests/e2e/session_fixture.hpp"

namespace piorch {
namespace {

using namespace std::chrono_literals;

class SessionModels : public test::session_fixture {
protected:
  // Follows up on a live session and expects an error that says all of `words`; the
  // session is idle afterwards and answers.
  void expect_error(const std::string& id, const std::string& task,
                    const std::vector<std::string>& words) {
    const auto how = rig->run({"follow-up", id, task});
    EXPECT_EQ(how.status, 1) << task << ": " << how.out;
    EXPECT_EQ(how.out, "") << task;
    for (const auto& word : words)
      EXPECT_NE(how.err.find(word), std::string::npos) << task << ": " << how.err;
    EXPECT_EQ(rig->document(id)["state"], "idle");
    const auto wait = rig->run({"wait", id});
    EXPECT_EQ(wait.status, 1);
    EXPECT_EQ(rig->run({"follow-up", id, "#plain well"}).out, "well\n") << "after " << task;
  }
};

TEST_F(SessionModels, ErrorsAreErrorsAndNeverAnOlderText) {
  const auto id = start_idle("m");
  expect_error(id, "#error 401 bad key", {"401", "bad key"});
  expect_error(id, "#cut half an ans", {"erminated"});
  const auto failed = rig->run({"start", "#error 401 bad key"});
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_NE(failed.err.find("bad key"), std::string::npos) << failed.err;
}

TEST_F(SessionModels, RetriesOfPiAreNoErrors) {
  const auto how = rig->run(
      {"start", R"(#steps [{"status":500,"error":"out of order","times":1,"text":"at last"}])"});
  EXPECT_EQ(how.status, 0) << how.err;
  EXPECT_EQ(how.out, "at last\n");
  EXPECT_NE(how.err.find("out of order"), std::string::npos) << how.err;
}

TEST_F(SessionModels, ALongAnswerArrivesWhole) {
  const auto how = rig->run({"start", "#long 5000000"});
  EXPECT_EQ(how.status, 0) << how.err.substr(0, 300);
  EXPECT_GE(how.out.size(), 5000000u);
  EXPECT_LT(peak_mib(rig->orchestrator()), 120u);
}

TEST_F(SessionModels, AProviderThatCannotBeReachedIsNamedWithTheRemedy) {
  rig->configure("{}");
  const auto how = rig->run({"start", "#plain x"});
  EXPECT_EQ(how.status, 1);
  const auto port = std::to_string(rig->pi.model_port());
  EXPECT_NE(how.err.find("127.0.0.1:" + port), std::string::npos) << how.err;
  EXPECT_NE(how.err.find("\"allowedLocalPorts\": [" + port + "]"), std::string::npos) << how.err;
}

// --- somebody else in Pi's place ---

class SessionVillains : public SessionModels {
protected:
  void SetUp() override {
    SessionModels::SetUp();
    if (!rig)
      return;
    use_villain();
    const auto started = rig->run({"start", "-d", "hello"});
    ASSERT_EQ(started.status, 0) << started.err;
    id = rig->line(started.out);
    ASSERT_EQ(rig->run({"wait", id}).out, "survived hello\n");
  }
  std::string id;
};

TEST_F(SessionVillains, NonsenseOnItsOutputIsToldAndPassedOver) {
  for (const std::string deed : {"null", "garbage", "deep", "endless"}) {
    EXPECT_EQ(rig->run({"follow-up", id, deed}).out, "survived " + deed + "\n");
    EXPECT_LT(peak_mib(rig->orchestrator()), 120u) << deed;
  }
  rig->run({"stop", id});
  std::size_t warnings = 0;
  for (const auto& e : events(rig->run({"follow", id, "--json"}).out))
    warnings += e["event"]["type"] == "warning" ? 1 : 0;
  EXPECT_GE(warnings, 6u);
}

TEST_F(SessionVillains, AGigabyteOnStderrIsReadAndItsTailIsKept) {
  EXPECT_EQ(rig->run({"follow-up", id, "stderr"}).out, "survived stderr\n");
  EXPECT_LT(peak_mib(rig->orchestrator()), 120u);
  rig->run({"stop", id});
  EXPECT_LE(std::filesystem::file_size(rig->sessions() / id / "stderr"), 256u << 10);
}

TEST_F(SessionVillains, ADialogIsAnsweredWithCancel) {
  EXPECT_EQ(rig->run({"follow-up", id, "dialog"}).out, "told: true\n");
}

TEST_F(SessionVillains, AWorkerThatEndsFailsItsSessionWithItsLastWords) {
  const auto how = rig->run({"follow-up", id, "die"});
  EXPECT_EQ(how.status, 1);
  EXPECT_NE(how.err.find("exit 7"), std::string::npos) << how.err;
  EXPECT_NE(how.err.find("\n  I cannot go on\n"), std::string::npos) << how.err;
  const auto document = rig->document(id);
  EXPECT_EQ(document["state"], "failed");
  EXPECT_EQ(document["exit"], 7);
  EXPECT_EQ(rig->run({"follow-up", id, "more"}).status, 1);
}

TEST_F(SessionVillains, HalfALineAtTheEndIsNoAnswer) {
  const auto how = rig->run({"follow-up", id, "closed"});
  EXPECT_EQ(how.status, 1) << how.out;
  EXPECT_EQ(rig->document(id)["state"], "failed");
}

} // namespace
} // namespace piorch
