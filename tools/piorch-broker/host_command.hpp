// A command that somebody has approved to run on the host (contract, section 9): the same
// streams, limits and ends as a sandboxed one, and no walls. It has a session of its own, or,
// on a terminal, a process group in its foreground. All of that group ends with it and with this
// process, and what has left it is left alone: a server that it was to start.
//
// Main thread, which runs the io_context.
#pragma once

#include "sandbox/remote_job.hpp"
#include "sandbox/run.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace piorch::broker {

// The environment of such a command: the client's, without what a workspace could lead its
// shell to, and with the addresses of the user's agents and servers, which clients keep
// from sandboxed commands and which it is there for. `own` is this process's environment.
std::vector<std::string> host_environment(const sandbox::remote_job& job,
                                          const std::vector<std::string>& own);

// On a terminal: a job of the caller's, with the caller's signals.
struct terminal_job {
  int terminal = -1;
  std::uint64_t signal_mask = 0, ignored_signals = 0; // bit n-1: signal n
  std::function<void()> stopped;                      // then resume()
};

class host_command {
public:
  host_command(boost::asio::io_context& io, std::function<void(const sandbox::outcome&)> ended);
  ~host_command(); // what still runs is killed

  // `stdio`: its descriptors 0, 1, 2 (-1: /dev/null); copied.
  result<done> start(const sandbox::remote_job& job, const std::array<int, 3>& stdio,
                     const terminal_job* on_terminal = nullptr);
  void end(sandbox::end_reason why);
  void deliver(int signal);
  void child_changed(); // SIGCHLD: it may have stopped
  void resume(bool in_foreground);

private:
  void start_guard(const std::string& self);
  void take(sandbox::run::step what);
  void gone();

  std::function<void(const sandbox::outcome&)> ended_;
  boost::asio::posix::stream_descriptor handle_; // pidfd
  boost::asio::steady_timer time_limit_, grace_;
  sandbox::run run_;
  terminal_job job_;
  pid_t pid_ = -1;
  pid_t guard_ = -1; // ends the group if this process cannot
};

// The children's side. Ends with its parent, then becomes WORDS; with masks (hexadecimal) and not
// "-" it is a job on the terminal:
//   piorch-broker run PARENT_PID MASK IGNORED DIRECTORY WORD...
[[noreturn]] void become_host_command(int argc, char** argv);
// Waits for the end of its parent and kills the process group of the command then:
//   piorch-broker guard PARENT_PID GROUP
[[noreturn]] void become_group_guard(int argc, char** argv);

} // namespace piorch::broker
