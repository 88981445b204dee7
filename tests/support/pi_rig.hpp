// A real Pi for tests: the one that tools/ci/pi-install has put into build/pi, an agent
// directory of its own, and the scripted model (tools/scripted-model) as its provider on
// loopback. One rig for each test; everything ends and is removed with it.
#pragma once

#include "ipc/unique_fd.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace piorch::test {

class pi_rig {
public:
  // `model_options` go to the scripted model, for example {"--script", file}.
  // Throws std::runtime_error when Pi is not installed or the model does not start.
  explicit pi_rig(const std::vector<std::string>& model_options = {}) {
    if (!std::filesystem::exists(bin() / "pi"))
      throw std::runtime_error("Pi is not installed: tools/ci/pi-install build/pi");
    auto pattern = (std::filesystem::temp_directory_path() / "piorch-rig.XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("mkdtemp " + pattern);
    directory_ = pattern;
    std::filesystem::create_directory(workspace());
    start_model(model_options);
  }
  pi_rig(const pi_rig&) = delete;
  pi_rig& operator=(const pi_rig&) = delete;
  ~pi_rig() {
    to_model_.reset(); // it leaves at the end of its input
    if (model_ > 0) {
      kill(model_, SIGKILL);
      waitpid(model_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Holds `node` and `pi`.
  static std::filesystem::path bin() {
    return std::filesystem::path(PIORCH_SOURCE_DIR) / "build/pi/bin";
  }
  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path workspace() const { return directory_ / "workspace"; }
  std::filesystem::path agent_directory() const { return directory_ / "agent"; }
  int model_port() const { return port_; }

  // What Pi, and everything that starts it, needs in the environment.
  std::map<std::string, std::string> environment() const {
    const auto path = getenv("PATH");
    return {{"PI_CODING_AGENT_DIR", agent_directory()},
            {"PI_OFFLINE", "1"},
            {"PATH", bin().string() + ":" + (path ? path : "/usr/bin:/bin")}};
  }

  // The requests that have reached the model so far, in order: `time` (ms since
  // the epoch), `headers`, `task`, `step`, `result`, `tools` …
  std::vector<nlohmann::json> requests() const { return log_entries("request"); }
  // "answered", or "closed": the client left before the answer was complete.
  std::vector<nlohmann::json> log_entries(const std::string& event) const {
    std::vector<nlohmann::json> found;
    std::ifstream in(log_file());
    for (std::string line; std::getline(in, line);) {
      auto entry = nlohmann::json::parse(line, nullptr, false);
      if (entry.is_object() && entry.value("event", "") == event)
        found.push_back(std::move(entry));
    }
    return found;
  }

private:
  std::filesystem::path log_file() const { return directory_ / "model.log"; }

  void start_model(const std::vector<std::string>& options) {
    std::vector<std::string> words = {
        bin() / "node", std::string(PIORCH_SOURCE_DIR) + "/tools/scripted-model/main.mjs",
        "--agent-dir",  agent_directory(),
        "--log",        log_file()};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);

    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    ipc::unique_fd in_read(in[0]);
    to_model_ = ipc::unique_fd(in[1]);
    ipc::unique_fd out_read(out[0]);
    ipc::unique_fd out_write(out[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_read.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out_write.get(), 1);
    const int failed = posix_spawn(&model_, argv[0], &actions, nullptr, argv.data(), ::environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
      throw std::runtime_error("cannot start " + words[0]);
    out_write.reset();

    std::string line;
    for (char c = 0; read(out_read.get(), &c, 1) == 1 && c != '\n';)
      line += c;
    port_ = std::atoi(line.c_str());
    if (port_ <= 0)
      throw std::runtime_error("the scripted model did not start");
  }

  std::filesystem::path directory_;
  ipc::unique_fd to_model_;
  pid_t model_ = -1;
  int port_ = 0;
};

// Whether Pi is there; installs it if it is not, once.
inline bool pi_installed() {
  static const bool installed = [] {
    const std::string source = PIORCH_SOURCE_DIR;
    return std::filesystem::exists(pi_rig::bin() / "pi") ||
           std::system(
               ("'" + source + "/tools/ci/pi-install' '" + source + "/build/pi'").c_str()) == 0;
  }();
  return installed;
}

} // namespace piorch::test
