#include "tools/piorch-broker/exec_broker.hpp"

#include "actors/broker.hpp"
#include "config/text.hpp"
#include "sandbox/files.hpp"
#include "sandbox/memory_group.hpp"
#include "sandbox/process_tree.hpp"
#include "sandbox/report.hpp"
#include "tools/piorch-broker/network_side.hpp"
#include "tools/piorch-broker/terminal_prompt.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::broker {

namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;

constexpr std::size_t max_refused_paths = 100;
constexpr std::size_t max_diagnostics_bytes = 4096;
// Commands that end sooner never pay for a cgroup (see memory_group).
constexpr std::chrono::milliseconds memory_group_after{100};

microseconds monotonic_now() {
  return std::chrono::duration_cast<microseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

struct actor_config : caf::actor_system_config {
  actor_config() { actors::configure(*this, 1); }
};

class exec_broker {
private:
  // For actors, on their thread: the call happens on the main thread.
  template <class Function> auto on_io(Function f) {
    return [this, f](auto... xs) { asio::post(io_, [f, xs...] { f(xs...); }); };
  }

public:
  explicit exec_broker(sandbox::hand_over job)
      : job_(std::move(job)), system_(config_), signals_(io_), memory_timer_(io_),
        tree_(std::make_shared<sandbox::process_tree>(io_, job_.bwrap, std::move(job_.channel))),
        prompt_(
            io_, job_.command,
            [this](std::uint64_t id, bool allow) {
              network_.answer(id, allow, "terminal", allow ? "" : "the user said no");
            },
            [this](std::function<void()> go_on) { hold_command(std::move(go_on)); },
            [this] { release_command(); }),
        network_(io_, system_, job_.settings, job_.trusted_file, make_approver()) {
    in_foreground_ = has_settings_ =
        job_.terminal && ::tcgetattr(job_.terminal.get(), &settings_) == 0;
  }

  [[noreturn]] void run() {
    broker_ = system_.spawn(actors::broker_actor, port(), control(), job_.time_limit,
                            on_io([this](const actors::sandbox_handle& s) { start(s); }));
    watch_signals();
    asio::post(io_, [this] { // what killed processes of before have left
      sandbox::sweep_scratch(job_.temp_dir);
      if (job_.temp_dir != "/tmp")
        sandbox::sweep_scratch("/tmp");
    });
    io_.run();
    std::abort(); // leave() ends the process
  }

private:
  actors::broker_port port() {
    actors::broker_port p;
    p.started = on_io([this](std::uint64_t at) { started(microseconds(at)); });
    p.listening = on_io([this](const actors::shared_fds& fds) { network_.listen(*fds); });
    p.stopped = on_io([this](int) { stopped(); });
    p.held = on_io([this](bool everything) { held(everything); });
    p.refused = on_io([this](const actors::path_refused& r) { refused(r); });
    p.ended = on_io([this](const sandbox::outcome& how) { leave(how); });
    return p;
  }

  actors::tree_control control() {
    actors::tree_control c;
    c.send = on_io([this](sandbox::init::message what, std::uint32_t a) { tree_->send(what, a); });
    c.kill = on_io([this] { tree_->kill(); });
    return c;
  }

  // -- on the main thread ------------------------------------------------------

  // The tree speaks to the sandbox actor only, so it may speak once that exists.
  void start(const actors::sandbox_handle& s) {
    tree_->start(
        {[s](const sandbox::init::header& h, std::string text, std::vector<ipc::unique_fd> fds) {
           auto shared = std::make_shared<std::vector<ipc::unique_fd>>(std::move(fds));
           actors::tell(s, actors::init_said{h, std::move(text), std::move(shared)});
         },
         [this, s] { actors::tell(s, actors::tree_gone{diagnostics()}); }});
  }

  void started(microseconds at) {
    started_ = at;
    memory_timer_.expires_after(memory_group_after);
    memory_timer_.async_wait([this](boost::system::error_code ec) {
      if (!ec && tree_->init_pid() > 0)
        memory_ =
            sandbox::memory_group::place(tree_->init_pid(), job_.settings.limits.memory_mib << 20);
    });
  }

  void refused(const actors::path_refused& r) {
    if (report_.refused_paths.size() < max_refused_paths)
      report_.refused_paths.push_back({r.path, r.rule});
  }

  // Terminal job control: what the command did, this process does for its own
  // parent. Only on a terminal: elsewhere a command could stop its own time limit.
  void stopped() {
    if (!job_.terminal)
      return;
    if (holding_) { // by a Ctrl-Z just before the question
      stopped_before_ = true;
      return;
    }
    take_terminal();
    ::raise(SIGSTOP);
    const bool foreground = ::tcgetpgrp(job_.terminal.get()) == ::getpgrp();
    in_foreground_ = foreground;
    actors::tell(broker_, actors::resume_command{foreground});
  }

  // -- approvals on the terminal -------------------------------------------------

  approver make_approver() {
    if (!job_.ask || !job_.terminal || !prompt_.is_usable())
      return {};
    return {[this](const sandbox::network::ask_request& r) { prompt_.show(r); },
            [this](std::uint64_t id) { prompt_.hide(id); },
            {}};
  }

  // Whatever has the terminal open, in the foreground or not, could repaint the
  // question, set the terminal up to lose or to make an answer, or read it instead of
  // us: nothing in the sandbox runs as long as a question is open.
  void hold_command(std::function<void()> then) {
    holding_ = true;
    held_ = std::move(then);
    actors::tell(broker_, actors::hold_tree{true});
  }

  void held(bool everything) {
    if (!everything) // a question could be forged
      prompt_.refuse_all();
    if (auto go_on = std::exchange(held_, nullptr))
      go_on();
  }

  void release_command() {
    actors::tell(broker_, actors::hold_tree{false});
    holding_ = false;
    if (std::exchange(stopped_before_, false))
      stopped();
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
    if (has_settings_)
      ::tcsetattr(job_.terminal.get(), TCSANOW, &settings_);
  }

  void watch_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int n : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH})
      sigaddset(&set, n);
    signals_.assign(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    read_signal();
  }

  void read_signal() {
    signals_.async_wait(
        asio::posix::descriptor_base::wait_read, [this](boost::system::error_code ec) {
          if (ec)
            return;
          signalfd_siginfo info;
          while (::read(signals_.native_handle(), &info, sizeof info) == sizeof info)
            take_signal(static_cast<int>(info.ssi_signo), info.ssi_code);
          read_signal();
        });
  }

  void take_signal(int number, int code) {
    if (number == SIGTERM || number == SIGHUP)
      actors::tell(broker_, actors::end_sandbox{sandbox::end_reason::hangup});
    else if (code == SI_KERNEL && holding_) { // Ctrl-C is a no, and the command's as well
      prompt_.refuse_all();
      actors::tell(broker_, actors::deliver_signal{number});
    } else if (code != SI_KERNEL || !job_.terminal) // the terminal's own reach the command directly
      actors::tell(broker_, actors::deliver_signal{number});
  }

  std::string diagnostics() {
    std::string text(max_diagnostics_bytes, '\0');
    const ssize_t n = ::pread(job_.diagnostics.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

  [[noreturn]] void leave(const sandbox::outcome& how) {
    const microseconds now = monotonic_now();
    network_.stop();
    prompt_.close();
    restore_terminal();
    job_.temp.remove();
    memory_ = {};
    if (!how.problem.empty())
      std::fprintf(stderr, "piorch exec: %s\n", config::printable(how.problem).c_str());
    write_report(how, now);
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
    ::_exit(how.exit_code);
  }

  void write_report(const sandbox::outcome& how, microseconds now) {
    if (!job_.report)
      return;
    const microseconds begun(job_.begun_us);
    report_.how = how;
    report_.network = network_.report();
    report_.setup = how.started ? started_ - begun : now - begun;
    report_.duration = how.started ? now - started_ : microseconds(0);
    const std::string text = sandbox::report_json(report_);
    if (::ftruncate(job_.report.get(), 0) != 0 ||
        ::write(job_.report.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      std::fprintf(stderr, "piorch exec: cannot write the report: %s\n", std::strerror(errno));
  }

  sandbox::hand_over job_;
  actor_config config_;
  caf::actor_system system_;
  asio::io_context io_{1};
  asio::posix::stream_descriptor signals_;
  asio::steady_timer memory_timer_;
  std::shared_ptr<sandbox::process_tree> tree_;
  terminal_prompt prompt_;
  network_side network_;
  std::function<void()> held_; // runs when everything has stopped for a question
  bool holding_ = false;
  bool stopped_before_ = false;
  termios settings_{}; // of the terminal, as the caller had them
  bool has_settings_ = false;
  bool in_foreground_ = false;
  actors::broker_handle broker_;
  sandbox::memory_group memory_;
  sandbox::exec_report report_;
  microseconds started_{0};
};

} // namespace

void run_exec(sandbox::hand_over job) {
  // The command's input and output are not this process's: whoever reads them
  // must see their end with the command's.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(null, 1);
  exec_broker(std::move(job)).run();
}

} // namespace piorch::broker
