// A worker as pi-subagents starts it, with a shell script in Pi's place: a project, an agent
// directory with something of everything, the directories of one run, and a supervisor.
#pragma once

#include "tests/support/fake_supervisor.hpp"
#include "tests/support/workspace.hpp"

namespace piorch::test {

class worker_rig {
public:
  explicit worker_rig(fake_supervisor::answer_fn answer = fake_supervisor::allow)
      : supervisor((w.top() / "s.sock").string(), std::move(answer)) {
    for (const char* file : {"settings.json", "auth.json", "models.json", "trust.json"})
      write_file(agent_dir() / file, "{\"of\":\"the user\"}\n");
    write_file(agent_dir() / "extensions/hello.js", "export default () => {};\n");
    write_file(agent_dir() / "sessions/--project--/other.jsonl", "another session\n");
    write_file(launch_dir() / "hand.md", "You are the hand.\n");
    std::filesystem::create_directories(session_dir());
    std::filesystem::create_directories(runs() / "supervisor-channels/run-hand-0/requests");
    write_file(runs() / "async-subagent-results/run.json", "a result\n");
  }

  std::filesystem::path agent_dir() const { return w.home() / ".pi/agent"; }
  std::filesystem::path launch_dir() const { return w.host_temp() / "pi-subagent-abc123"; }
  std::filesystem::path session_dir() const {
    return agent_dir() / "sessions/--project--/parent/run/run-0";
  }
  std::filesystem::path runs() const {
    return w.host_temp() / ("pi-subagents-uid-" + std::to_string(::geteuid()));
  }
  static std::string piorch_pi() {
    return std::filesystem::path(piorch_program()).parent_path() / "piorch-pi";
  }

  // Pi's words follow as $1, $2 …
  program worker(const std::string& script, std::vector<std::string> words = {}) const {
    if (words.empty())
      words = {"--mode",
               "json",
               "-p",
               "--session",
               session_dir() / "session.jsonl",
               "--system-prompt",
               launch_dir() / "hand.md",
               "Task: do it"};
    words.insert(words.begin(), piorch_pi());
    program out = w.host(std::move(words));
    out.environment["PI_SUBAGENT_CHILD"] = "1";
    out.environment["PI_SUBAGENT_CHILD_AGENT"] = "hand";
    out.environment["PI_SUBAGENT_RUN_ID"] = "run";
    out.environment["PI_SUBAGENT_PI_BINARY"] = piorch_pi();
    out.environment["PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR"] =
        runs() / "supervisor-channels/run-hand-0";
    out.environment["PI_SANDBOX_EXTERNAL_REAL_PI_BINARY"] = "/bin/bash";
    out.environment["PI_SANDBOX_EXTERNAL_REAL_PI_PREFIX"] =
        nlohmann::json({"-c", script, "pi"}).dump();
    out.environment["PI_SANDBOX_EXTERNAL_SUPERVISOR_SOCKET"] = supervisor.path();
    out.environment["PI_SANDBOX_EXTERNAL_SUPERVISOR_CAPABILITY"] = capability;
    return out;
  }

  const std::string capability = std::string(64, 'c');
  workspace w;
  fake_supervisor supervisor;
};

} // namespace piorch::test
