#include "tools/piorch-broker/terminal_prompt.hpp"

#include "config/terminal.hpp"
#include "config/text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace piorch::broker {

namespace asio = boost::asio;

namespace {

constexpr std::size_t max_line = 512; // a host name has at most 253 characters

// A plain line, whatever the settings were: also the special characters, with which a
// program could have made the terminal drop what is typed.
termios plain_line(const termios& now) {
  termios t = now;
  t.c_iflag = BRKINT | ICRNL | (now.c_iflag & IUTF8);
  t.c_oflag = OPOST | ONLCR;
  t.c_lflag = ICANON | ECHO | ECHOE | ECHOK | ISIG | IEXTEN;
  for (auto& c : t.c_cc)
    c = _POSIX_VDISABLE;
  t.c_cc[VMIN] = 1;
  t.c_cc[VTIME] = 0;
  t.c_cc[VINTR] = 'C' - '@';
  t.c_cc[VSUSP] = 'Z' - '@';
  t.c_cc[VERASE] = 0x7f;
  t.c_cc[VKILL] = 'U' - '@';
  t.c_cc[VEOF] = 'D' - '@';
  t.c_cc[VWERASE] = 'W' - '@';
  return t;
}

bool end_is_wanted() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1);
}

} // namespace

void stop_as_a_job() {
  sigset_t its;
  sigemptyset(&its);
  sigaddset(&its, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_BLOCK, &its, nullptr);
}

terminal_prompt::terminal_prompt(asio::io_context& io, answer_fn answer,
                                 std::function<void(std::function<void()>)> on_open,
                                 std::function<void()> on_closed)
    : tty_(io), answer_(std::move(answer)), on_open_(std::move(on_open)),
      on_closed_(std::move(on_closed)) {
  ipc::unique_fd fd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  boost::system::error_code ec;
  if (fd)
    tty_.assign(fd.release(), ec);
}

void terminal_prompt::show(question what) {
  queue_.push_back(std::move(what));
  if (current_.id == 0 && !opening_)
    next();
}

void terminal_prompt::hide(std::uint64_t id) {
  queue_.erase(
      std::remove_if(queue_.begin(), queue_.end(), [id](const auto& r) { return r.id == id; }),
      queue_.end());
  if (current_.id != id)
    return;
  print("\npiorch: no longer needed.\n");
  current_ = {};
  next();
}

void terminal_prompt::refuse_all() {
  auto refused = std::exchange(queue_, {});
  if (const auto id = std::exchange(current_, {}).id)
    answer_(id, false);
  for (const auto& r : refused)
    answer_(r.id, false);
  if (!opening_)
    next();
}

void terminal_prompt::close() {
  queue_.clear();
  current_ = {};
  opening_ = false;
  give_back();
}

bool terminal_prompt::suspend() {
  const int fd = tty_.native_handle();
  if (std::exchange(have_settings_, false))
    ::tcsetattr(fd, TCSANOW, &settings_);
  stop_as_a_job();
  while (::tcgetpgrp(fd) != ::getpgrp()) { // in the background nobody can be asked
    if (end_is_wanted()) {
      foreground_ = -1; // the terminal is the shell's
      return false;
    }
    ::raise(SIGSTOP);
  }
  if (current_.id != 0)
    show_current();
  return true;
}

void terminal_prompt::next() {
  if (!queue_.empty() && foreground_ < 0) {
    opening_ = true;
    on_open_([this] {
      opening_ = false;
      ask();
    });
  } else {
    ask();
  }
}

void terminal_prompt::ask() {
  if (queue_.empty()) { // answered, or withdrawn while it opened
    give_back();
    on_closed_();
    return;
  }
  current_ = std::move(queue_.front());
  queue_.pop_front();
  show_current();
}

void terminal_prompt::show_current() {
  line_.clear();
  take_terminal();
  if (!config::is_dumb_terminal(std::getenv("TERM")))
    print(config::reset_screen);
  // The name, not a yes: whatever the screen shows, what is typed says what is meant.
  const bool shown = print("\npiorch: " + current_.text + "        " + current_.to_allow +
                           " type " + current_.expected + "\n");
  if (!shown) { // nobody can say yes to what was not all there
    answer_(std::exchange(current_, {}).id, false);
    return next();
  }
  // Typed ahead for the command, or by the terminal itself, not as an answer to this.
  ::tcflush(tty_.native_handle(), TCIFLUSH);
  print("        Anything else is no: ");
  read();
}

// One read is pending at a time; it survives from one question to the next.
void terminal_prompt::read() {
  if (reading_)
    return;
  reading_ = true;
  tty_.async_read_some(asio::buffer(buffer_), [this](boost::system::error_code ec, std::size_t n) {
    reading_ = false;
    if (ec == asio::error::operation_aborted || current_.id == 0)
      return;
    line_.append(buffer_, n);
    const auto end = line_.find('\n');
    if (!ec && end == std::string::npos && line_.size() < max_line)
      return read();
    const std::string word = config::lower_case(config::trimmed(line_.substr(0, end)));
    const auto answered = std::exchange(current_, {});
    answer_(answered.id, !ec && word == answered.expected);
    next();
  });
}

// A terminal that takes nothing (Ctrl-S) must not stop the broker: what does not
// fit within a moment is not shown.
bool terminal_prompt::print(const std::string& text) {
  constexpr int moment_ms = 500;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto n = ::write(tty_.native_handle(), text.data() + at, text.size() - at);
    if (n > 0) {
      at += static_cast<std::size_t>(n);
      continue;
    }
    pollfd ready{tty_.native_handle(), POLLOUT, 0};
    if (errno != EAGAIN || ::poll(&ready, 1, moment_ms) != 1)
      return false;
  }
  return true;
}

void terminal_prompt::take_terminal() {
  const int fd = tty_.native_handle();
  if (foreground_ < 0)
    foreground_ = ::tcgetpgrp(fd);
  ::tcsetpgrp(fd, ::getpgrp()); // SIGTTOU is blocked
  if (!have_settings_)
    have_settings_ = ::tcgetattr(fd, &settings_) == 0;
  const termios plain = plain_line(settings_);
  if (have_settings_)
    ::tcsetattr(fd, TCSANOW, &plain);
  ::tcflow(fd, TCOON); // it may have been told to show nothing
}

void terminal_prompt::give_back() {
  if (!tty_.is_open())
    return;
  boost::system::error_code ignored;
  tty_.cancel(ignored);
  if (std::exchange(have_settings_, false))
    ::tcsetattr(tty_.native_handle(), TCSANOW, &settings_);
  if (const pid_t group = std::exchange(foreground_, -1); group > 0)
    ::tcsetpgrp(tty_.native_handle(), group);
}

} // namespace piorch::broker
