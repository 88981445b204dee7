#include "tools/piorch-broker/terminal_prompt.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace piorch::broker {

namespace asio = boost::asio;

terminal_prompt::terminal_prompt(asio::io_context& io, std::string command, answer_fn answer,
                                 std::function<void(std::function<void()>)> on_open,
                                 std::function<void()> on_closed)
    : tty_(io), command_(config::printable(command, 200)), answer_(std::move(answer)),
      on_open_(std::move(on_open)), on_closed_(std::move(on_closed)) {
  ipc::unique_fd fd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  boost::system::error_code ec;
  if (fd)
    tty_.assign(fd.release(), ec);
}

void terminal_prompt::show(const sandbox::network::ask_request& request) {
  queue_.push_back(request);
  if (current_ == 0 && !opening_)
    next();
}

void terminal_prompt::hide(std::uint64_t id) {
  queue_.erase(
      std::remove_if(queue_.begin(), queue_.end(), [id](const auto& r) { return r.id == id; }),
      queue_.end());
  if (current_ != id)
    return;
  print("\npiorch: no longer needed.\n");
  current_ = 0;
  next();
}

void terminal_prompt::close() {
  queue_.clear();
  current_ = 0;
  give_back();
}

void terminal_prompt::next() {
  line_.clear();
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
  const auto request = queue_.front();
  queue_.pop_front();
  current_ = request.id;
  take_terminal();
  // Typed ahead for the command, not as an answer to this.
  ::tcflush(tty_.native_handle(), TCIFLUSH);
  print("\npiorch: the sandboxed command wants to connect to " +
        sandbox::network::to_text(request.to) + "\n        command: " + command_ +
        "\n        Allow this one connection? (y)es, anything else is no: ");
  read();
}

// One read is pending at a time; it survives from one question to the next.
void terminal_prompt::read() {
  if (reading_)
    return;
  reading_ = true;
  tty_.async_read_some(asio::buffer(buffer_), [this](boost::system::error_code ec, std::size_t n) {
    reading_ = false;
    if (ec == asio::error::operation_aborted || current_ == 0)
      return;
    line_.append(buffer_, n);
    const auto end = line_.find('\n');
    if (!ec && end == std::string::npos && line_.size() < sizeof buffer_)
      return read();
    const std::string word = config::lower_case(config::trimmed(line_.substr(0, end)));
    const auto id = current_;
    current_ = 0;
    answer_(id, !ec && (word == "y" || word == "yes"));
    next();
  });
}

void terminal_prompt::print(const std::string& text) {
  // A terminal that takes nothing (Ctrl-S) must not stop the broker: what does not
  // fit is not shown, and no answer is a no.
  [[maybe_unused]] const auto n = ::write(tty_.native_handle(), text.data(), text.size());
}

void terminal_prompt::take_terminal() {
  const int fd = tty_.native_handle();
  if (foreground_ < 0)
    foreground_ = ::tcgetpgrp(fd);
  ::tcsetpgrp(fd, ::getpgrp()); // SIGTTOU is blocked
  if (have_settings_ || ::tcgetattr(fd, &settings_) != 0)
    return;
  have_settings_ = true; // an editor may have left it raw and silent
  termios plain = settings_;
  plain.c_iflag |= ICRNL;
  plain.c_oflag |= OPOST | ONLCR;
  plain.c_lflag |= ICANON | ECHO | ISIG;
  ::tcsetattr(fd, TCSANOW, &plain);
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
