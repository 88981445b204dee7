// Sessions as a user has them: the piorch program with a home, a state and a runtime
// directory of its own, real Pi, the scripted model on loopback, which the trusted
// configuration lets workers reach. The orchestrator ends with the rig.
#pragma once

#include "ipc/client.hpp"
#include "ipc/start_instance.hpp"
#include "tests/support/pi_rig.hpp"
#include "tests/support/read_file.hpp"
#include "tests/support/run.hpp"

#include <chrono>
#include <functional>
#include <iterator>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace piorch::test {

class session_rig {
public:
  struct outcome {
    int status = -1; // 128 + n: ended by signal n
    std::string out;
    std::string err;
  };

  explicit session_rig(const std::vector<std::string>& model_options = {}) : pi(model_options) {
    for (const char* dir : {"home", "run", "state", "tmp", "out"})
      std::filesystem::create_directory(root() / dir);
    std::filesystem::permissions(root() / "run", std::filesystem::perms::owner_all);
    auto settings = nlohmann::json::parse(read_file(pi.agent_directory() / "settings.json"));
    settings["retry"] = {{"baseDelayMs", 20}}; // Pi's own 2, 4 and 8 s are not what is tested
    std::ofstream(pi.agent_directory() / "settings.json") << settings;
    configure(R"({"network": {"allowedLocalPorts": [)" + std::to_string(pi.model_port()) + "]}}");
  }
  ~session_rig() { end_orchestrator(SIGTERM); }

  std::filesystem::path root() const { return pi.directory(); }
  std::string workspace() const { return pi.workspace(); }
  std::filesystem::path sessions() const { return root() / "state/piorch/sessions"; }

  void configure(const std::string& json) const {
    const auto file = configuration_file();
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << json << "\n";
  }
  std::string configuration() const { return read_file(configuration_file()); }

  std::map<std::string, std::string> environment() const {
    auto out = pi.environment();
    out["HOME"] = root() / "home";
    out["XDG_RUNTIME_DIR"] = root() / "run";
    out["XDG_STATE_HOME"] = root() / "state";
    out["TMPDIR"] = root() / "tmp";
    out["LANG"] = "C.UTF-8";
    for (const auto& [name, value] : extra)
      out[name] = value;
    return out;
  }

  // `piorch WORDS…` in the workspace. Its output is in files, so that it may be long.
  class process {
  public:
    process(const session_rig& rig, std::vector<std::string> words) {
      const auto name = std::to_string(++rig.started_);
      out_ = rig.root() / "out" / (name + ".out");
      err_ = rig.root() / "out" / (name + ".err");
      words.insert(words.begin(), {"env", "-C", rig.workspace(), PIORCH_BUILD_DIR "/bin/piorch"});
      std::vector<std::string> variables;
      for (const auto& [key, value] : rig.environment()) {
        variables.push_back(key);
        variables.back() += "=" + value;
      }
      std::vector<char*> argv, envp;
      for (auto& word : words)
        argv.push_back(word.data());
      for (auto& variable : variables)
        envp.push_back(variable.data());
      argv.push_back(nullptr);
      envp.push_back(nullptr);
      posix_spawn_file_actions_t actions;
      posix_spawn_file_actions_init(&actions);
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
      posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT, 0600);
      posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT, 0600);
      const int failed =
          posix_spawn(&pid_, "/usr/bin/env", &actions, nullptr, argv.data(), envp.data());
      posix_spawn_file_actions_destroy(&actions);
      if (failed != 0)
        throw std::runtime_error("cannot start piorch");
    }
    process(const process&) = delete;
    process(process&& from) noexcept
        : pid_(std::exchange(from.pid_, -1)), out_(from.out_), err_(from.err_) {}
    ~process() {
      if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
      }
    }
    pid_t pid() const { return pid_; }
    std::string out() const { return read_file(out_); }
    std::string err() const { return read_file(err_); }
    outcome wait() {
      int raw = 0;
      ::waitpid(std::exchange(pid_, -1), &raw, 0);
      return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), out(), err()};
    }

  private:
    pid_t pid_ = -1;
    std::filesystem::path out_, err_;
  };

  // A program for a `terminal`, in the workspace, as a person has it.
  program on_terminal(std::vector<std::string> argv) const {
    program p;
    p.argv = std::move(argv);
    p.directory = workspace();
    for (const auto& [name, value] : environment())
      p.environment[name] = value;
    p.environment["TERM"] = "xterm";
    p.environment["NO_COLOR"] = std::nullopt;
    return p;
  }
  program piorch_on_terminal(std::vector<std::string> words) const {
    words.insert(words.begin(), PIORCH_BUILD_DIR "/bin/piorch");
    return on_terminal(std::move(words));
  }

  process start(std::vector<std::string> words) const { return {*this, std::move(words)}; }
  outcome run(std::vector<std::string> words) const { return start(std::move(words)).wait(); }

  // The answer of a command with --json.
  nlohmann::json json(std::vector<std::string> words) const {
    words.push_back("--json");
    const auto how = run(std::move(words));
    auto parsed = nlohmann::json::parse(how.out, nullptr, false);
    if (parsed.is_discarded())
      throw std::runtime_error("no JSON: " + how.out + how.err);
    return parsed;
  }
  // The document of a session.
  nlohmann::json document(const std::string& session) const { return json({"status", session}); }
  // An id without its newline.
  static std::string line(const std::string& text) { return text.substr(0, text.find('\n')); }

  // A private orchestrator, connected; ends with `pid` or when the client is gone.
  // `before` runs in its process first.
  ipc::client connect_private(
      pid_t& pid, bool approves = false, const std::function<void()>& before = [] {}) const {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], 0);
      ::dup2(ends[1], 1);
      for (const auto& [key, value] : environment())
        ::setenv(key.c_str(), value.c_str(), 1);
      before();
      ::execl(PIORCH_BUILD_DIR "/bin/piorch", "piorch", "serve", "--stdio", nullptr);
      ::_exit(99);
    }
    ::close(ends[1]);
    ipc::client c{ipc::unique_fd(ends[0])};
    if (auto hello = c.call(ipc::initialize_params{1, "test", "1", approves},
                            std::chrono::milliseconds(20000));
        !hello)
      throw std::runtime_error(hello.failed().text);
    return c;
  }

  // The pid of the default orchestrator; -1: none runs.
  pid_t orchestrator() const {
    std::ifstream in(root() / "run/piorch/default.lock");
    pid_t pid = -1;
    return in >> pid ? pid : -1;
  }
  // Signals it and waits until it is gone.
  void end_orchestrator(int signal) const {
    const pid_t pid = orchestrator();
    if (pid <= 1)
      return;
    ::kill(pid, signal);
    // Not kill(pid, 0): whoever inherits it may reap it late.
    within(std::chrono::seconds(10),
           [&] { return read_file("/proc/" + std::to_string(pid) + "/cmdline").empty(); });
  }

  // Processes (not ended ones) whose command line or environment contains `mark`.
  static std::vector<pid_t> alive(const std::string& mark) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos)
        continue;
      for (const char* file : {"cmdline", "environ"})
        if (read_file(entry.path() / file).find(mark) != std::string::npos) {
          found.push_back(std::stoi(name));
          break;
        }
    }
    return found;
  }
  // Everything that piorch has started for this rig, itself included.
  std::vector<pid_t> everything() const {
    return alive("XDG_STATE_HOME=" + (root() / "state").string());
  }
  // Private directories of sandboxes.
  std::size_t litter() const {
    const std::filesystem::directory_iterator files(root() / "tmp");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  static bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until)
        return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  pi_rig pi;
  std::map<std::string, std::string> extra; // of the environment

private:
  std::filesystem::path configuration_file() const {
    return root() / "home/.pi/agent/extensions/pi-sandbox/config.json";
  }

  mutable int started_ = 0;
};

} // namespace piorch::test
