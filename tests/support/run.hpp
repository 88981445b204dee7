// Starts programs for tests and never waits for them without an end: every wait
// here has a deadline, after which the started process (and only it) is killed
// and the test fails.
#pragma once

#include "ipc/unique_fd.hpp"

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace piorch::test {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The longest any test waits for one program.
inline constexpr milliseconds watchdog{60000};

struct program {
  std::vector<std::string> argv; // argv[0] is looked up in PATH
  std::string directory = {};    // "": the current one
  // Changes to this process's environment; nullopt takes a variable out.
  std::map<std::string, std::optional<std::string>> environment = {};
  bool clean_environment = false; // start from nothing instead
  std::string input = {};         // its stdin, then end of file
  bool keep_input_open = false;   // stdin stays open until finish()
  // Passed on under the same numbers, in spite of close-on-exec.
  std::vector<int> extra_fds = {};
  bool new_session = false;
};

struct finished {
  int status = -1;      // exit status, or 128 + signal
  bool overdue = false; // killed by the watchdog
  std::string out, err; // at most capture_bytes of each
  std::size_t out_bytes = 0;
  milliseconds took{0};
};

// A started program. Killed and reaped when destroyed.
class child {
public:
  static constexpr std::size_t capture_bytes = 4u << 20;

  explicit child(program what);
  child(child&& other) noexcept;
  child& operator=(child&&) = delete;
  ~child();

  pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  void write(const std::string& text) const;
  // Reads stdout until `text` has appeared in it. False at the end of file or
  // when the time is over.
  bool read_until(const std::string& text, milliseconds limit = watchdog);
  const std::string& out() const { return out_; }
  // Reads stdout until that many bytes have come in all.
  bool read_bytes(std::size_t count, milliseconds limit = watchdog);
  // Until the end of file of stdout (everybody who inherited it is gone), without
  // waiting for the process. False when the time is over.
  bool read_to_end(milliseconds limit = watchdog);
  // Closes stdin, reads both outputs to their ends and waits for the process.
  finished finish(milliseconds limit = watchdog);

private:
  bool read_some(clock::time_point deadline); // false: deadline, or both at their end
  void reap(clock::time_point deadline, finished& to);

  pid_t pid_ = -1;
  ipc::unique_fd pidfd_, in_, out_fd_, err_fd_;
  std::string out_, err_;
  std::size_t out_bytes_ = 0;
  clock::time_point begun_;
};

finished run(program what, milliseconds limit = watchdog);

// For those who start one in another way.
std::vector<std::string> environment_of(const program& what);
std::vector<char*> pointers(std::vector<std::string>& words); // with the closing null

// A wait for one descriptor; false when the time is over.
bool wait_readable(int fd, milliseconds limit);

// A pidfd that is readable when the process has ended (-1: there is none).
ipc::unique_fd watch_process(pid_t pid);

// Processes of this machine with `text` in their command line.
std::vector<pid_t> processes_with(const std::string& text);

// The direct children of a process.
std::vector<pid_t> children_of(pid_t pid);
std::string name_of_process(pid_t pid);

} // namespace piorch::test
