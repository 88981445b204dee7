#include "sandbox/external_worker.hpp"

#include "ipc/base64.hpp"
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class SandboxExternalWorker : public testing::Test {
protected:
  SandboxExternalWorker()
      : runs(temp.path() / ("tmp/pi-subagents-uid-" + std::to_string(::geteuid()))) {
    for (const char* dir : {"tmp", "project", "agent/sessions/--p--/parent/run/run-0",
                            "agent/skills", "packages/node_modules/pi-subagents/src"})
      fs::create_directories(temp.path() / dir);
    test::write_file(temp.path() / "tmp/pi-subagent-x/hand.md", "You are.");
    test::write_file(temp.path() / "packages/node_modules/pi-subagents/package.json", "{}");
    test::write_file(temp.path() / "packages/node_modules/pi-subagents/src/a.ts", "");
    test::write_file(temp.path() / "agent/settings.json", "{}");
    in.program = {"/bin/sh"};
    in.variables = environment({"PI_SUBAGENT_CHILD=1", "PI_SUBAGENT_RUN_ID=run"});
    in.workspace = temp.path() / "project";
    in.temp_dir = temp.path() / "tmp";
    in.agent_dir = temp.path() / "agent";
  }
  std::string at(const std::string& path) const { return temp.path() / path; }
  // What the rules say of a path: "" nothing.
  std::string rule_of(const external_worker& worker, const std::string& path) const {
    std::string out;
    for (const rule& r : worker.extras.rules)
      if (r.path == path)
        out += std::string(out.empty() ? "" : " ") + name_of(r.what);
    return out;
  }
  std::string refusal() {
    const auto worker = examine_external_worker(in);
    return worker ? "" : worker.failed().text;
  }

  test::temp_dir temp;
  fs::path runs;
  external_worker_inputs in;
};

TEST_F(SandboxExternalWorker, PromptAndTaskAreReadOnlyInAWritableDirectory) {
  test::write_file(at("tmp/pi-subagent-x/task.md"), "Task: x");
  in.arguments = {"--mode",
                  "json",
                  "-p",
                  "--append-system-prompt",
                  at("tmp/pi-subagent-x/hand.md"),
                  "@" + at("tmp/pi-subagent-x/task.md")};
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, at("tmp/pi-subagent-x")), "write");
  EXPECT_EQ(rule_of(*worker, at("tmp/pi-subagent-x/hand.md")), "protect");
  EXPECT_EQ(rule_of(*worker, at("tmp/pi-subagent-x/task.md")), "protect");
}

TEST_F(SandboxExternalWorker, TheTaskIsNotReadAsOptions) {
  in.arguments = {"-p", "--model", "--session", "Task: --session /etc"};
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(worker->model, "--session");
}

TEST_F(SandboxExternalWorker, ASessionIsItsDirectoryAndAForkedOneItsFile) {
  in.arguments = {"-p", "--session", at("agent/sessions/--p--/parent/run/run-0/session.jsonl"),
                  "Task"};
  auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, at("agent/sessions/--p--/parent/run/run-0")), "write");
  EXPECT_EQ(rule_of(*worker, at("agent/sessions/--p--/subagent-artifacts/outputs/run")), "write");

  test::write_file(at("agent/sessions/--p--/fork.jsonl"), "");
  in.arguments = {"-p", "--session", at("agent/sessions/--p--/fork.jsonl"), "Task"};
  worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, at("agent/sessions/--p--/fork.jsonl")), "write");
  EXPECT_EQ(rule_of(*worker, at("agent/sessions/--p--")), "");

  for (const char* path :
       {"agent/sessions/--p--/gone.jsonl", "agent/settings.json", "tmp/x.jsonl"}) {
    in.arguments = {"-p", "--session", at(path), "Task"};
    EXPECT_THAT(refusal(), HasSubstr("--session")) << path;
  }
}

TEST_F(SandboxExternalWorker, OutputsAreThoseThatTheTaskNames) {
  const std::string outputs = at("agent/sessions/--p--/subagent-artifacts/outputs");
  in.arguments = {"-p", "--session", at("agent/sessions/--p--/parent/run/run-0/session.jsonl"),
                  "Task: write to " + outputs + "/call_1/main.md, not " + outputs + "/../x or " +
                      outputs + "/.hidden/x"};
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, outputs + "/call_1"), "write");
  EXPECT_EQ(rule_of(*worker, outputs), "");
  EXPECT_EQ(rule_of(*worker, at("agent/sessions/--p--/subagent-artifacts")), "");
}

TEST_F(SandboxExternalWorker, RunDirectoriesAreMadeAndThoseOfAllRunsRefused) {
  const auto steer = (runs / "async-subagent-runs/id/control/steer-targets/0").string();
  in.variables.set("PI_SUBAGENT_STEER_INBOX", steer);
  in.variables.set("PI_SUBAGENT_STEER_CAPABILITY",
                   (runs / "async-subagent-runs/id/control/steer-capabilities/0.json").string());
  in.variables.set("PI_SUBAGENT_PARENT_EVENT_SINK",
                   (runs / "nested-subagent-events/root-token/events").string());
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, steer), "write");
  EXPECT_TRUE(fs::is_directory(steer));
  EXPECT_EQ(rule_of(*worker, runs / "nested-subagent-events/root-token"), "write");

  for (const char* place :
       {"", "async-subagent-runs", "async-subagent-runs/id", "async-subagent-runs/id/control",
        "async-subagent-results/x", "session-leases/x", "nested-subagent-events"}) {
    in.variables.set("PI_SUBAGENT_STEER_INBOX", (runs / place).string());
    EXPECT_NE(refusal(), "") << place;
  }
}

TEST_F(SandboxExternalWorker, TheBudgetIsDecodedAndMustBeABudget) {
  const auto encode = [](const std::string& directory) {
    std::string out;
    ipc::append_base64(out, R"({"version":1,"directory":")" + directory + R"("})");
    while (!out.empty() && out.back() == '=')
      out.pop_back();
    for (char& c : out)
      c = c == '+' ? '-' : c == '/' ? '_' : c;
    return out;
  };
  const std::string budget = runs / "run-fanout-budgets/run-1";
  in.variables.set("PI_SUBAGENT_RUN_FANOUT_BUDGET", encode(budget));
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, budget), "write");
  for (const std::string& bad : {encode("/etc"), encode(runs / "run-fanout-budgets"),
                                 std::string("!"), std::string("e30")}) {
    in.variables.set("PI_SUBAGENT_RUN_FANOUT_BUDGET", bad);
    EXPECT_THAT(refusal(), HasSubstr("BUDGET"));
  }
}

TEST_F(SandboxExternalWorker, CodeIsShownWithThePackagesBesideIt) {
  in.arguments = {"-p",          "--extension",   at("packages/node_modules/pi-subagents/src/a.ts"),
                  "--extension", "./relative.ts", "Task"};
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, at("packages/node_modules")), "read");
  in.arguments = {"-p", "--extension", at("gone.ts"), "Task"};
  EXPECT_THAT(refusal(), HasSubstr("--extension"));
}

TEST_F(SandboxExternalWorker, TheAgentDirectoryIsCopiedOrShownReadOnly) {
  const auto worker = examine_external_worker(in);
  ASSERT_TRUE(worker) << worker.failed().text;
  EXPECT_EQ(rule_of(*worker, at("agent/skills")), "read");
  EXPECT_EQ(rule_of(*worker, at("agent/settings.json")), "");
  EXPECT_EQ(rule_of(*worker, at("agent/sessions")), "");
  EXPECT_TRUE(std::any_of(worker->copies.begin(), worker->copies.end(), [&](const private_copy& c) {
    return c.from == at("agent/settings.json") && c.to == "agent/settings.json";
  }));
}

TEST_F(SandboxExternalWorker, SomeDirectoriesAreNoWorkspace) {
  for (const std::string& place : {at(""), at("agent"), at("agent/sessions"), at("tmp")}) {
    in.workspace = place.back() == '/' ? place.substr(0, place.size() - 1) : place;
    EXPECT_THAT(refusal(), HasSubstr("workspace")) << place;
  }
  in.workspace = at("project");
  in.variables.set("PI_SUBAGENT_CHILD", "0");
  EXPECT_THAT(refusal(), HasSubstr("PI_SUBAGENT_CHILD"));
}

} // namespace
} // namespace piorch::sandbox
