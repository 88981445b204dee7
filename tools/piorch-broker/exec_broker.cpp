#include "tools/piorch-broker/exec_broker.hpp"

#include "config/text.hpp"
#include "orchestration/host_access.hpp"
#include "sandbox/caller.hpp"
#include "tools/piorch-broker/host_command.hpp"
#include "tools/piorch-broker/last_words.hpp"
#include "tools/piorch-broker/sandbox_host.hpp"
#include "tools/piorch-broker/signal_stream.hpp"
#include "tools/piorch-broker/stderr_relay.hpp"
#include "tools/piorch-broker/terminal_prompt.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::broker {

namespace {

namespace asio = boost::asio;

class exec_broker {
public:
  // `streams`: the caller's standard input and output, for a run on the host.
  exec_broker(sandbox::hand_over job, std::array<ipc::unique_fd, 2> streams)
      : job_(std::move(job)), streams_(std::move(streams)), signals_(io_),
        prompt_(
            io_, [this](std::uint64_t id, bool allow) { answered(id, allow); },
            [this](std::function<void()> go_on) { hold_command(std::move(go_on)); },
            [this] { release_command(); }),
        patience_(io_) {
    in_foreground_ = job_.terminal && job_.terminal_settings;
    if (is_preflight())
      return;
    host_.emplace(io_, job_, make_front(), make_approver());
    if (job_.host && job_.host->stderr_from)
      relay_.emplace(io_, std::move(job_.host->stderr_from), std::move(job_.host->stderr_to),
                     [this](std::string_view bytes) { refusal_.take(bytes); });
  }

  [[noreturn]] void run() {
    signals_.start({SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD, SIGTSTP},
                   [this](int number, int code) { take_signal(number, code); });
    if (is_preflight())
      ask_for_host();
    io_.run();
    std::abort(); // leave() ends the process
  }

private:
  bool is_preflight() const { return job_.bwrap < 0; }

  front make_front() {
    front f;
    f.ended = [this](const sandbox::exec_report& r) { ended(r); };
    f.held = [this](bool everything) { held(everything); };
    if (job_.terminal)
      f.stopped = [this] { stopped(); };
    return f;
  }

  // Terminal job control: what the command did, this process does for its own parent.
  void stopped() {
    if (holding_) { // by a Ctrl-Z just before the question
      stopped_before_ = true;
      return;
    }
    take_terminal();
    ::raise(SIGSTOP);
    const bool foreground = ::tcgetpgrp(job_.terminal.get()) == ::getpgrp();
    in_foreground_ = foreground;
    if (on_host_)
      on_host_->resume(foreground);
    else
      host_->resume(foreground);
  }

  // -- approvals on the terminal -------------------------------------------------

  approver make_approver() {
    if (!job_.ask || !job_.terminal || !prompt_.is_usable())
      return {};
    return {[this](const sandbox::network::ask_request& r) {
              prompt_.show(about_connection(r, job_.command));
            },
            [this](std::uint64_t id) { prompt_.hide(id); },
            {}};
  }

  void answered(std::uint64_t id, bool allow) {
    if (id == host_question)
      allowed_ = allow; // acted upon when the terminal has been given back
    else
      host_->answer(id, "terminal", allow, allow ? "" : "the user said no");
  }

  // Whatever has the terminal open, in the foreground or not, could repaint the
  // question, set the terminal up to lose or to make an answer, or read it instead of
  // us: nothing in the sandbox runs as long as a question is open.
  void hold_command(std::function<void()> then) {
    holding_ = true;
    if (asking_)
      return then(); // nothing runs
    if (relay_)
      relay_->hold(true);
    held_ = std::move(then);
    host_->hold(true);
  }

  void held(bool everything) {
    if (!everything) // a question could be forged
      prompt_.refuse_all();
    if (auto go_on = std::exchange(held_, nullptr))
      go_on();
  }

  void release_command() {
    holding_ = false;
    if (std::exchange(asking_, false))
      return decided();
    host_->hold(false);
    if (relay_)
      relay_->hold(false);
    if (std::exchange(stopped_before_, false))
      stopped();
  }

  // The command has ended before it stopped for the question: nobody will say that it has.
  void abandon_question() {
    if (!std::exchange(holding_, false))
      return;
    held_ = nullptr;
    stopped_before_ = false;
    prompt_.close();
    if (relay_)
      relay_->hold(false);
  }

  void take_terminal() {
    if (job_.terminal)
      ::tcsetpgrp(job_.terminal.get(), ::getpgrp()); // SIGTTOU is blocked
  }

  // What a killed editor, or spite, has left: raw, silent, another special character.
  // Not when the shell outside has put this job into the background meanwhile.
  void restore_terminal() {
    const bool ours =
        in_foreground_ || (job_.terminal && ::tcgetpgrp(job_.terminal.get()) == ::getpgrp());
    if (!ours)
      return;
    take_terminal();
    if (job_.terminal_settings)
      ::tcsetattr(job_.terminal.get(), TCSANOW, &*job_.terminal_settings);
  }

  void take_signal(int number, int code) {
    if (number == SIGCHLD) {
      if (on_host_)
        on_host_->child_changed();
    } else if (number == SIGTSTP) {
      if (holding_)
        in_foreground_ = prompt_.suspend();
      else
        stop_as_a_job();
    } else if (number == SIGTERM || number == SIGHUP) {
      if (!ended_by_)
        ended_by_ = number;
      end();
    } else if (code == SI_KERNEL && holding_) { // Ctrl-C is a no, and the command's as well
      // While it is held: a shell whose child has ended of the refusal would go on.
      deliver(number);
      if (number != SIGWINCH) // the window has another size
        prompt_.refuse_all();
    } else if (code != SI_KERNEL || !job_.terminal) // the terminal's own reach the command directly
      deliver(number);
  }

  void deliver(int number) {
    if (on_host_)
      on_host_->deliver(number);
    else if (asking_ && number != SIGWINCH)
      prompt_.refuse_all();
    else if (host_ && !over_)
      host_->deliver(number);
  }

  void end() {
    if (on_host_)
      on_host_->end(sandbox::end_reason::hangup);
    else if (asking_)
      prompt_.refuse_all();
    else if (over_)
      relay_->give_up();
    else
      host_->end(sandbox::end_reason::hangup);
  }

  // -- on the host (contract, section 9) -----------------------------------------

  // The sandbox is gone.
  void ended(const sandbox::exec_report& r) {
    report_ = r;
    over_ = true;
    abandon_question();
    const auto next = [this] { wants_retry() ? ask_for_host() : leave(report_); };
    if (!relay_)
      return next();
    if (ended_by_ || r.how.timed_out) { // a terminal that takes nothing is not waited for
      patience_.expires_after(sandbox::run::grace);
      patience_.async_wait([this](boost::system::error_code ec) {
        if (!ec)
          relay_->give_up();
      });
    }
    relay_->finish(next);
  }

  bool wants_retry() {
    const auto& how = report_.how;
    const bool failed = how.started && how.problem.empty() && how.signal == 0 && how.exit_code != 0;
    if (!relay_ || !failed || how.timed_out || ended_by_ || !refusal_.seen())
      return false;
    if (job_.time_limit.count() > 0 && report_.duration >= job_.time_limit)
      return false;
    const char* why = job_.host->shown.size() > orchestration::shown_command_bytes
                          ? "the command is too long to be shown to somebody"
                      : !has_foreground() ? "this terminal belongs to another program now"
                      : !rewind_input()   ? "its input has been read and cannot be read again"
                                          : nullptr;
    if (why)
      std::fprintf(stderr, "piorch exec: not run again on the host: %s\n", why);
    return !why;
  }

  bool has_foreground() const {
    return in_foreground_ || ::tcgetpgrp(job_.terminal.get()) == ::getpgrp();
  }

  // It starts from the beginning.
  bool rewind_input() {
    const int input = streams_[0].get();
    return ::isatty(input) == 1 ||
           (job_.host->input_offset >= 0 && ::lseek(input, job_.host->input_offset, SEEK_SET) >= 0);
  }

  void ask_for_host() {
    allowed_ = false;
    if (!prompt_.is_usable())
      return decided("there is no terminal to ask on");
    asking_ = true;
    patience_.expires_after(job_.settings.approvals.timeout);
    patience_.async_wait([this](boost::system::error_code ec) {
      if (ec || !asking_)
        return;
      why_not_ = "nobody answered in time";
      prompt_.hide(host_question);
    });
    take_terminal();
    prompt_.show(about_host(*job_.host));
  }

  void decided() { decided(why_not_); }

  void decided(const char* why_not) {
    patience_.cancel();
    if (allowed_)
      return start_on_host();
    std::fprintf(stderr, "piorch exec: %s: %s\n",
                 is_preflight() ? "not run: it would run on the host, and that was not allowed"
                                : "not run again on the host",
                 why_not);
    if (is_preflight() && ended_by_)
      report_.how.exit_code = 128 + ended_by_;
    leave(report_);
  }

  void start_on_host() {
    std::fputs(is_preflight() ? "" : orchestration::retry_marker, stderr);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(report_.duration);
    job_.host->job.time_limit =
        job_.time_limit.count() > 0 ? job_.time_limit - spent : job_.time_limit;
    const terminal_job as{job_.terminal.get(), job_.host->signal_mask, job_.host->ignored_signals,
                          [this] { stopped(); }};
    begun_on_host_us_ = sandbox::monotonic_us();
    on_host_.emplace(io_, [this](const sandbox::outcome& how) { ended_on_host(how); });
    const auto started =
        on_host_->start(job_.host->job, {streams_[0].get(), streams_[1].get(), 2}, &as);
    streams_ = {};
    if (started)
      return;
    report_.how = {};
    report_.how.problem = started.failed().text;
    leave(report_);
  }

  void ended_on_host(const sandbox::outcome& how) {
    report_.how = how;
    report_.ran_on_host = true;
    report_.duration += std::chrono::microseconds(sandbox::monotonic_us() - begun_on_host_us_);
    if (is_preflight())
      report_.setup = std::chrono::microseconds(begun_on_host_us_ - job_.begun_us);
    leave(report_);
  }

  [[noreturn]] void leave(const sandbox::exec_report& report) {
    const sandbox::outcome& how = report.how;
    prompt_.close();
    restore_terminal();
    if (const auto note = memory_note(report, job_.settings, job_.trusted_file); !note.empty())
      std::fprintf(stderr, "piorch exec: %s\n", note.c_str());
    if (!how.problem.empty())
      std::fprintf(stderr, "piorch exec: %s\n", config::printable(how.problem).c_str());
    for (const std::string& line : refused_settings(report))
      std::fprintf(stderr, "piorch exec: %s\n", line.c_str());
    const bool reported = write_report(report);
    if (job_.terminal && (how.signal == SIGINT || how.signal == SIGQUIT)) {
      // Ctrl-C went to the command's process group only. Without the sandbox the
      // caller's group (a script, say) would have got it as well, and would look
      // whether its child died of it: so this process dies of it too.
      ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // without a core file
      sigset_t its;
      sigemptyset(&its);
      sigaddset(&its, how.signal);
      ::kill(0, how.signal);
      ::pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
    }
    // Whatever the end took, a caller that sent the signal sees that signal.
    const int status = ended_by_ && how.signal ? 128 + ended_by_ : how.exit_code;
    // Not 125, which promises that nothing was executed.
    ::_exit(status == 0 && !reported ? 1 : status);
  }

  bool write_report(const sandbox::exec_report& report) {
    if (!job_.report)
      return true;
    const auto why = replace_content(std::move(job_.report), sandbox::report_json(report));
    if (!why.empty())
      std::fprintf(stderr, "piorch exec: the report could not be written: %s\n", why.c_str());
    return why.empty();
  }

  sandbox::hand_over job_;
  std::array<ipc::unique_fd, 2> streams_;
  asio::io_context io_{1};
  signal_stream signals_;
  terminal_prompt prompt_;
  std::function<void()> held_; // runs when everything has stopped for a question
  bool holding_ = false;
  bool stopped_before_ = false;
  bool in_foreground_ = false;
  int ended_by_ = 0; // the first SIGTERM or SIGHUP to this process
  sandbox::exec_report report_;
  bool over_ = false;    // the sandbox is gone
  bool asking_ = false;  // whether it may run on the host
  bool allowed_ = false; // the answer
  const char* why_not_ = "the user said no";
  asio::steady_timer patience_;
  orchestration::socket_refusal refusal_;
  std::uint64_t begun_on_host_us_ = 0;
  std::optional<host_command> on_host_;
  std::optional<stderr_relay> relay_;
  std::optional<sandbox_host> host_; // none in a preflight
};

} // namespace

void run_exec(sandbox::hand_over job) {
  sigset_t stop; // before there are threads
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  // The command's input and output are not this process's: whoever reads them
  // must see their end with the command's.
  // With its end, that is, unless it may run again.
  std::array<ipc::unique_fd, 2> streams;
  if (job.host)
    for (int fd = 0; fd <= 1; ++fd)
      streams[static_cast<std::size_t>(fd)].reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(null, 1);
  exec_broker(std::move(job), std::move(streams)).run();
}

} // namespace piorch::broker
