#include "tools/piorch-broker/worker_broker.hpp"

#include "config/text.hpp"
#include "sandbox/caller.hpp"
#include "tools/piorch-broker/nested_workers.hpp"
#include "tools/piorch-broker/sandbox_host.hpp"
#include "tools/piorch-broker/signal_stream.hpp"
#include "tools/piorch-broker/supervisor_line.hpp"

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace piorch::broker {

namespace {

namespace asio = boost::asio;

constexpr int refused_status = 1; // contract, section 10: pi-subagents shows our line

class worker_broker {
public:
  explicit worker_broker(sandbox::hand_over job)
      : job_(std::move(job)), signals_(io_),
        line_(io_, job_,
              [this](const supervisor_line::decision& d) {
                host_.answer(d.question, d.source, d.allow, d.reason);
              }),
        nested_(io_, line_),
        host_(io_, job_,
              front{[] {}, [](const sandbox::refused_entry&) {},
                    [this](const sandbox::exec_report& r) { ended(r.how); },
                    [this](ipc::unique_fd door) { nested_.listen(std::move(door)); }},
              make_approver()) {
    watch_signals();
  }

  [[noreturn]] void run() {
    io_.run();
    std::abort(); // leave() ends the process
  }

private:
  approver make_approver() {
    if (!job_.ask)
      return {};
    return {[this](const sandbox::network::ask_request& r) { line_.ask(r); },
            [this](std::uint64_t id) { line_.forget(id); },
            {}};
  }

  void watch_signals() {
    signals_.start({SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2},
                   [this](int number, int) { take_signal(number); });
  }

  // One SIGTERM must be enough: of an aborted call pi-subagents sends no other signal.
  void take_signal(int number) {
    if (number == SIGTERM || number == SIGHUP) {
      ended_by_ = number;
      host_.end(sandbox::end_reason::hangup);
    } else
      host_.deliver(number);
  }

  void ended(const sandbox::outcome& how) {
    how_ = how;
    nested_.stop();
    line_.end(how, [this] { leave(); });
  }

  [[noreturn]] void leave() const {
    if (!how_.started || !how_.problem.empty()) {
      const std::string why = how_.problem.empty() ? "it was ended before Pi ran" : how_.problem;
      std::fprintf(stderr, "piorch-pi: %s\n", config::printable(why).c_str());
      ::_exit(refused_status);
    }
    sandbox::leave_like(how_.exit_code,
                        how_.signal == SIGKILL && ended_by_ != 0 ? ended_by_ : how_.signal);
  }

  sandbox::hand_over job_;
  asio::io_context io_{1};
  signal_stream signals_;
  supervisor_line line_;
  nested_workers nested_;
  sandbox_host host_;
  sandbox::outcome how_;
  int ended_by_ = 0; // the signal that told us to end, or 0
};

} // namespace

void run_worker(sandbox::hand_over job) {
  // Pi's input and output are not this process's: whoever reads them must see their end
  // with Pi's. Errors are still ours to say.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(null, 1);
  ::signal(SIGPIPE, SIG_IGN);
  worker_broker(std::move(job)).run();
}

} // namespace piorch::broker
