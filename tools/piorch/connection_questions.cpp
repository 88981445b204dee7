#include "tools/piorch/connection_questions.hpp"

#include "config/terminal.hpp"
#include "config/text.hpp"
#include "tools/piorch/output.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

constexpr std::size_t line_max = 512;    // a host name has at most 253 characters
constexpr std::size_t held_max = 10'000; // events; the journal has them all

ipc::unique_fd open_terminal() {
  return ipc::unique_fd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

// What does not fit is not shown: a terminal that takes nothing must not stop us. Was all of it?
bool print_to(int fd, const std::string& text) {
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string who_of(const ipc::approval_request& r) {
  if (!r.session_id)
    return "a sandboxed command";
  auto out = "session " + config::printable(*r.session_id, 64);
  if (r.agent_name && !r.agent_name->empty())
    out += " (" + config::printable(*r.agent_name, 64) + ")";
  return out;
}

} // namespace

bool can_ask_here() { return ::isatty(STDERR_FILENO) == 1 && open_terminal(); }

connection_questions::connection_questions(bool usable,
                                           std::function<void(const nlohmann::json&)> show)
    : show_(std::move(show)) {
  if (!usable)
    return;
  tty_ = open_terminal();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCONT); // takes effect all the same
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  continued_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

connection_questions::~connection_questions() { leave_screen(); }

// Of a shell's background, reading would stop us.
bool connection_questions::has_terminal() const {
  return tty_ && ::tcgetpgrp(tty_.get()) == ::getpgrp();
}

bool connection_questions::take(ipc::client& peer, const ipc::rpc_message& message) {
  if (message.method == ipc::approval_cancelled_method) {
    const auto over = ipc::read<ipc::approval_cancelled>(message.params);
    if (!over)
      return true;
    const auto same = [&](const question& q) { return q.peer == &peer && q.id == over->id; };
    queue_.erase(std::remove_if(queue_.begin(), queue_.end(), same), queue_.end());
    if (is_open() && same(current_)) {
      leave_screen();
      next();
    }
    return true;
  }
  if (message.method != ipc::approval_request_method)
    return false;
  const auto request = ipc::read<ipc::approval_request>(message.params);
  if (!request)
    return true; // whoever else is asked may understand it
  if (!is_asked_here(*request)) {
    print_to(STDERR_FILENO,
             "\npiorch: " + who_of(*request) + " waits for an answer: piorch approvals shows it\n");
    return true;
  }
  const auto destination = *request->destination;
  question q;
  q.peer = &peer;
  q.request = message.id;
  q.id = request->id;
  q.host = destination.substr(0, destination.rfind(':'));
  q.text = "\npiorch: " + who_of(*request) + " wants to connect to " +
           config::printable(destination, 300) +
           "\n        task: " + config::printable(request->command, 200) +
           (request->warning ? "\n        warning: " + config::printable(*request->warning) : "") +
           "\n        To allow this one connection type " + config::printable(q.host, 300) + "\n";
  if (!has_terminal())
    print_to(STDERR_FILENO, "\npiorch: " + who_of(*request) +
                                " waits for an answer: bring this to the foreground, or see "
                                "piorch approvals\n");
  queue_.push_back(std::move(q));
  if (!is_open())
    next();
  return true;
}

// A command that would run on the host is a larger matter than a line typed in passing.
bool connection_questions::is_asked_here(const ipc::approval_request& request) const {
  return tty_ && request.surface == "network" && request.destination && request.session_id &&
         (sessions_.empty() || sessions_.count(*request.session_id) != 0);
}

void connection_questions::next() {
  if (!queue_.empty()) {
    if (has_terminal()) {
      current_ = std::move(queue_.front());
      queue_.pop_front();
      ask();
    }
    return;
  }
  const auto held = std::exchange(held_, {});
  for (const auto& params : held)
    show_(params);
  if (const auto lost = std::exchange(not_held_, 0))
    print_to(STDERR_FILENO,
             "piorch: " + std::to_string(lost) + " events are not shown; piorch follow has them\n");
}

// The name, not a yes: whatever the screen shows, what is typed says what is meant.
void connection_questions::ask() {
  line_.clear();
  const auto text = (is_dumb_terminal() ? "" : config::reset_screen) + current_.text;
  bool shown = print_to(tty_.get(), text);
  ::tcflush(tty_.get(), TCIFLUSH); // typed before the question was there
  shown = print_to(tty_.get(), "        Anything else is no: ") && shown;
  if (!shown) // nobody answers what he cannot read
    answer(false);
}

void connection_questions::event(nlohmann::json params) {
  if (!is_open())
    show_(params);
  else if (held_.size() < held_max)
    held_.push_back(std::move(params));
  else
    ++not_held_;
}

std::vector<pollfd> connection_questions::wait_for() const {
  return {{is_open() && has_terminal() ? tty_.get() : -1, POLLIN, 0},
          {continued_.get(), POLLIN, 0}};
}

std::optional<ipc::client::clock::time_point> connection_questions::look_again() const {
  if (queue_.empty() || is_open())
    return {};
  return ipc::client::clock::now() + std::chrono::seconds(1);
}

void connection_questions::read() {
  signalfd_siginfo info;
  bool continued = false;
  while (continued_ && ::read(continued_.get(), &info, sizeof info) == sizeof info)
    continued = true;
  if (!has_terminal())
    return;
  if (!is_open())
    next();
  else if (continued)
    ask();
  else
    read_line();
}

void connection_questions::read_line() {
  char buffer[256];
  const auto n = ::read(tty_.get(), buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n > 0)
    line_.append(buffer, static_cast<std::size_t>(n));
  const auto end = line_.find('\n');
  if (n > 0 && end == std::string::npos && line_.size() < line_max)
    return;
  const auto word = config::lower_case(config::trimmed(line_.substr(0, end)));
  answer(n > 0 && end != std::string::npos && word == current_.host);
}

void connection_questions::answer(bool allow) {
  ipc::approval_decision decision;
  decision.allow = allow;
  decision.source = "terminal";
  current_.peer->answer(current_.request, ipc::write(decision));
  current_ = {};
  next();
}

// The person need not answer any more.
void connection_questions::leave_screen() {
  if (is_open())
    print_to(tty_.get(),
             "\npiorch: no longer asked here (answered elsewhere, overdue, or given up).\n");
  current_ = {};
}

} // namespace piorch::cli
