#include "tools/piorch/watch.hpp"

#include "tools/piorch/answer_approval.hpp"
#include "tools/piorch/board.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_board.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

using instance = instance_watch::instance;

// The terminal as the view needs it, and as it was afterwards. Ctrl-C is a key here: no
// signal ends us between the two.
class terminal_mode {
public:
  terminal_mode() : keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &was_) == 0) {
    if (keys_) {
      termios now = was_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &now);
    }
    print("\033[?1049h\033[?25l");
  }
  ~terminal_mode() {
    print("\033[?25h\033[?1049l");
    if (keys_)
      ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &was_);
  }
  terminal_mode(const terminal_mode&) = delete;
  terminal_mode& operator=(const terminal_mode&) = delete;
  bool keys() const { return keys_; }

private:
  termios was_{};
  bool keys_;
};

ipc::unique_fd signals_to_wait_for() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGWINCH})
    sigaddset(&set, s);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ipc::unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class view {
public:
  explicit view(const ipc::instance_directory& directory)
      : lists_(
            directory, {sessions_.list(), approvals_list(), commands_list()},
            [this](instance of) { lost(of); }, answers::yes) {}

  int run() {
    if (const auto begun = lists_.begin(); !begun)
      return failed("status", begun.failed());
    auto all = reach_all_orchestrators(answers::yes);
    if (!all)
      return failed("status", all.failed());
    lists_.look(std::move(*all));
    const auto signals = signals_to_wait_for();
    const terminal_mode mode;
    std::vector<int> wake{signals.get()};
    if (mode.keys())
      wake.push_back(STDIN_FILENO);
    for (;;) {
      if (const int status = show(mode.keys()); status != exit_done || left_)
        return status;
      switch (lists_.wait(next_age(), wake)) {
        case instance_watch::event::closed:
          return exit_done;
        case instance_watch::event::woken:
          if (ended_by_signal(signals.get()) || (mode.keys() && ended_by_key()))
            return exit_done;
          break;
        case instance_watch::event::news:
        case instance_watch::event::too_late:
          break;
      }
      // The others know what it has left behind; somebody has to.
      if (std::exchange(gone_, false)) {
        lists_.ask_again();
        if (auto again = reach_all_orchestrators(answers::yes))
          lists_.look(std::move(*again));
      }
    }
  }

private:
  instance_watch::list approvals_list() {
    return {[](auto after) { return ipc::approval_list_params{after}; },
            [this](instance of, const nlohmann::json& answer) -> result<std::uint64_t> {
              auto list = ipc::read<ipc::approval_list_result>(answer);
              if (!list)
                return std::move(list).failed();
              approvals_[of] = std::move(list->approvals);
              return list->revision;
            }};
  }
  instance_watch::list commands_list() {
    return {[](auto after) { return ipc::command_list_params{after}; },
            [this](instance of, const nlohmann::json& answer) -> result<std::uint64_t> {
              auto list = ipc::read<ipc::command_list_result>(answer);
              if (!list)
                return std::move(list).failed();
              commands_[of] = std::move(list->commands);
              return list->revision;
            }};
  }
  void lost(instance of) {
    sessions_.lost(of);
    approvals_.erase(of);
    commands_.erase(of);
    gone_ = true;
  }

  // Who is selected stays so until a person selects another one: what comes or goes
  // never puts something else under the next key.
  void collect() {
    board_.sessions.clear();
    board_.commands.clear();
    board_.approvals.clear();
    for (const auto& [id, d] : sessions_.sessions())
      if (auto read = orchestration::session_document_from(d))
        board_.sessions.push_back(std::move(*read));
    for (const auto& [of, some] : commands_)
      board_.commands.insert(board_.commands.end(), some.begin(), some.end());
    for (const auto& [of, some] : approvals_)
      board_.approvals.insert(board_.approvals.end(), some.begin(), some.end());
    std::sort(board_.approvals.begin(), board_.approvals.end(), [](const auto& a, const auto& b) {
      return std::tie(a.expires_at, a.id) < std::tie(b.expires_at, b.id);
    });
    if (selected_at() == board_.approvals.end())
      board_.selected.clear();
  }
  std::vector<ipc::approval_request>::const_iterator selected_at() const {
    return std::find_if(board_.approvals.begin(), board_.approvals.end(),
                        [&](const auto& a) { return a.id == board_.selected; });
  }

  int show(bool keys) {
    collect();
    board_options options;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
      options.columns = size.ws_col;
      options.rows = size.ws_row;
    }
    options.colour = colour_wanted(STDOUT_FILENO);
    options.keys = keys;
    options.now =
        std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    const auto drawn = draw(board_, options);
    std::string out = "\033[H";
    for (std::size_t i = 0; i + 1 < drawn.lines.size(); ++i)
      out += drawn.lines[i] + "\033[K\r\n";
    // Keys of before were not meant for what is selected now; the last line, which says
    // what keys do, comes when they are gone.
    if (keys && answerable_ != drawn.answerable) {
      if (const int status = print(out); status != exit_done)
        return status;
      out.clear();
      left_ = leaves(typed());
    }
    const int status = print(out + drawn.lines.back() + "\033[K\033[J");
    answerable_ = drawn.answerable;
    return status;
  }

  std::optional<ipc::client::clock::time_point> next_age() const {
    const bool ages = !board_.approvals.empty() || !board_.commands.empty() ||
                      std::any_of(board_.sessions.begin(), board_.sessions.end(),
                                  [](const auto& s) { return is_live(s.state); });
    if (!ages)
      return {};
    return ipc::client::clock::now() + std::chrono::seconds(1);
  }

  static bool ended_by_signal(int fd) {
    signalfd_siginfo info;
    bool ends = false;
    while (::read(fd, &info, sizeof info) == sizeof info)
      ends = ends || info.ssi_signo != SIGWINCH;
    return ends;
  }

  static std::string typed() {
    std::string out;
    char keys[256];
    for (pollfd ready{STDIN_FILENO, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
      const auto n = ::read(STDIN_FILENO, keys, sizeof keys);
      if (n <= 0)
        return out + '\x03'; // the terminal is gone
      out.append(keys, static_cast<std::size_t>(n));
    }
    return out;
  }
  static bool leaves(const std::string& keys) {
    return keys.find_first_of("q\x03") != std::string::npos;
  }

  // One key each time; what was typed along with it is dropped: it was typed before
  // the key's effect was on the screen. To leave is meant whatever is there.
  bool ended_by_key() {
    const std::string keys = typed();
    if (keys.empty())
      return false;
    board_.note.clear();
    if (leaves(keys))
      return true;
    if (keys[0] == 'j' || keys == "\033[B" || keys == "\033OB")
      select(true);
    else if (keys[0] == 'k' || keys == "\033[A" || keys == "\033OA")
      select(false);
    else if (keys[0] == 'a' || keys[0] == 'd')
      answer(keys[0] == 'a');
    return false;
  }

  void select(bool next) {
    const auto& all = board_.approvals;
    if (all.empty())
      return;
    const auto at = selected_at();
    if (at == all.end())
      board_.selected = next ? all.front().id : all.back().id;
    else if (next && at + 1 != all.end())
      board_.selected = (at + 1)->id;
    else if (!next && at != all.begin())
      board_.selected = (at - 1)->id;
  }

  // Only what was drawn as selected, and whole.
  void answer(bool allow) {
    if (answerable_.empty()) {
      board_.note = "nothing is selected: j and k select a request for approval";
      return;
    }
    ipc::approval_answer_params p;
    p.id = answerable_;
    p.decision.allow = allow;
    const auto answered = answer_approval(p);
    board_.note = answered ? p.id + (allow ? " allowed" : " denied") : answered.failed().text;
  }

  session_board sessions_;
  std::map<instance, std::vector<ipc::approval_request>> approvals_;
  std::map<instance, std::vector<ipc::command_entry>> commands_;
  board board_;
  std::string answerable_; // as drawn last
  bool gone_ = false;
  bool left_ = false; // by a key
  instance_watch lists_;
};

} // namespace

bool can_watch_on_terminal() { return ::isatty(STDOUT_FILENO) == 1 && !is_dumb_terminal(); }

int watch_on_terminal() {
  const auto directory = open_instance_directory();
  return directory ? view(*directory).run() : failed("status", directory.failed());
}

} // namespace piorch::cli
