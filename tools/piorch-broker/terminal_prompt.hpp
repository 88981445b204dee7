// Asks a person at the terminal for approvals, one question at a time. While
// one is open this process has the terminal's foreground and the settings of a
// plain line; the command, if it wants the terminal, waits. Main thread only.
#pragma once

#include "ipc/unique_fd.hpp"
#include "tools/piorch-broker/questions.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <deque>
#include <functional>
#include <string>
#include <sys/types.h>
#include <termios.h>

namespace piorch::broker {

// What SIGTSTP, which is blocked, would have done: nothing where no shell could let this process
// go on, or its caller ignores the signal.
void stop_as_a_job();

class terminal_prompt {
public:
  using answer_fn = std::function<void(std::uint64_t id, bool allow)>;

  // Uses /dev/tty; is_usable() says whether this process has one. `on_open` is called before the
  // first question takes the terminal and calls `go_on` when that may happen; `on_closed` when the
  // last one has given it back.
  terminal_prompt(boost::asio::io_context& io, answer_fn answer,
                  std::function<void(std::function<void()> go_on)> on_open,
                  std::function<void()> on_closed);
  bool is_usable() const { return tty_.is_open(); }

  void show(question what);
  void hide(std::uint64_t id);
  // A no to every question (Ctrl-C).
  void refuse_all();
  // Ctrl-Z: stops this process, and asks again when its shell has brought it to the front.
  // False: it is to end instead, in the background.
  bool suspend();
  // Gives the terminal back, whatever is open.
  void close();

private:
  void next();
  void ask();
  void show_current();
  void read();
  bool print(const std::string& text); // all of it?
  void take_terminal();
  void give_back();

  boost::asio::posix::stream_descriptor tty_;
  answer_fn answer_;
  std::function<void(std::function<void()>)> on_open_;
  std::function<void()> on_closed_;
  std::deque<question> queue_;
  question current_; // the one on the screen; with id 0: none
  bool reading_ = false;
  bool opening_ = false;
  std::string line_;
  char buffer_[256];
  pid_t foreground_ = -1;
  termios settings_{};
  bool have_settings_ = false;
};

} // namespace piorch::broker
