#include "ipc/start_instance.hpp"

#include "config/limits.hpp"
#include "ipc/json_text.hpp"
#include "ipc/system_error.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace piorch::ipc {

namespace {

using clock = client::clock;

constexpr int ready_fd = 3;
constexpr std::size_t ready_line_bytes = 4096;
constexpr int connect_attempts = 3; // an instance may be leaving just as we connect

std::chrono::milliseconds left(clock::time_point until) {
  return std::max(std::chrono::milliseconds(1),
                  std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()));
}

// Above anything the child's own descriptor list uses, so that none collides.
unique_fd lifted(unique_fd fd) { return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 64)); }

std::vector<char*> pointers(std::vector<std::string>& from) {
  std::vector<char*> out;
  for (auto& s : from)
    out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

// A daemon: own session, clean signals, nothing of ours open but the pipe.
result<pid_t> spawn(const start_options& options, int ready) {
  std::vector<std::string> args{options.program};
  args.insert(args.end(), options.args.begin(), options.args.end());
  args.insert(args.end(), {"--ready-fd", std::to_string(ready_fd)});
  std::vector<std::string> environment = options.environment;

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t every, none;
  sigfillset(&every);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &every);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const char* log = options.log_file.empty() ? "/dev/null" : options.log_file.c_str();
  posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, ready, ready_fd);
  posix_spawn_file_actions_addclosefrom_np(&actions, ready_fd + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");

  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, options.program.c_str(), &actions, &attributes,
                                   pointers(args).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    return fault("cannot start " + options.program, failed);
  return pid;
}

// One line or the end of the pipe, bounded in time and size.
result<std::string> read_ready_line(int fd, clock::time_point until) {
  std::string line;
  std::array<char, ready_line_bytes> buffer;
  while (line.size() < ready_line_bytes && line.find('\n') == std::string::npos) {
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left(until).count()));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0 || clock::now() >= until)
      return error{failure::unreachable, "the orchestrator did not say in time whether it serves"};
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    line.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return line;
}

result<done> start(const start_options& options, clock::time_point until) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fault("cannot make a pipe");
  unique_fd read_end(ends[0]);
  unique_fd write_end = lifted(unique_fd(ends[1]));
  auto pid = spawn(options, write_end.get());
  if (!pid)
    return error{failure::unreachable, pid.failed().text};
  write_end.reset();
  auto line = read_ready_line(read_end.get(), until);
  std::string why;
  if (line) {
    nlohmann::json status;
    parse_json(*line, status);
    if (status.is_object() && status.contains("ready") && status["ready"] == true)
      return done{};
    why = status.is_object() && status.contains("error") && status["error"].is_string()
              ? status["error"].get<std::string>()
              : "it ended before it served";
  } else {
    why = line.failed().text;
  }
  // It has not come up: it must not come up later either, nor stay our zombie.
  ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  return error{failure::unreachable, "no orchestrator could be started: " + why};
}

} // namespace

result<connected> connect_to(const instance_directory& dir, const std::string& name,
                             const initialize_params& who, std::chrono::milliseconds limit) {
  auto peer = client::connect(dir, name, limit);
  if (!peer)
    return std::move(peer).failed();
  auto answer = peer->call(who, limit);
  if (!answer)
    return std::move(answer).failed();
  auto server = read<initialize_result>(*answer);
  if (!server)
    return std::move(server).failed();
  return connected{std::move(*peer), std::move(*server)};
}

result<connected> connect_or_start(const instance_directory& dir, const start_options& options,
                                   const initialize_params& who) {
  const auto until = clock::now() + options.limit;
  auto there = connect_to(dir, default_instance, who, options.limit);
  for (int attempt = 0; !there && attempt < connect_attempts; ++attempt) {
    if (there.failed().code != failure::unreachable)
      return there; // it is there, but refuses or hangs: another one would not help
    auto lock = lock_file::take(dir, "start", left(until));
    if (!lock)
      return std::move(lock).failed();
    if (!*lock)
      return error{failure::unreachable, "another command is still starting the orchestrator"};
    there = connect_to(dir, default_instance, who, left(until));
    if (there)
      break;
    if (auto started = start(options, until); !started)
      return std::move(started).failed();
    there = connect_to(dir, default_instance, who, left(until));
  }
  return there;
}

std::vector<connected> connect_to_all(const instance_directory& dir, const initialize_params& who,
                                      std::chrono::milliseconds limit) {
  std::vector<connected> out;
  for (const auto& name : dir.names())
    if (auto there = connect_to(dir, name, who, limit))
      out.push_back(std::move(*there));
  return out;
}

std::vector<std::string> service_environment() {
  static constexpr std::array kept{"HOME",           "USER",
                                   "LOGNAME",        "PATH",
                                   "LANG",           "LC_ALL",
                                   "LC_CTYPE",       "TZ",
                                   "TMPDIR",         "XDG_RUNTIME_DIR",
                                   "XDG_STATE_HOME", "XDG_CONFIG_HOME",
                                   "XDG_CACHE_HOME", "PI_CODING_AGENT_DIR"};
  std::vector<std::string> out;
  for (char** v = environ; *v != nullptr; ++v)
    for (const char* name : kept)
      if (const std::size_t n = std::strlen(name); std::strncmp(*v, name, n) == 0 && (*v)[n] == '=')
        out.emplace_back(*v);
  return out;
}

void report_ready(int fd, const std::string& reason) {
  nlohmann::json status{{"ready", reason.empty()}};
  if (!reason.empty())
    status["error"] = reason.substr(0, ready_line_bytes / 8);
  const std::string line = write_json(status) + "\n";
  (void)!::write(fd, line.data(), line.size()); // nobody listens any more: nothing to tell
}

} // namespace piorch::ipc
