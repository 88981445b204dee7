#include "sandbox/trial.hpp"

#include "sandbox/launch.hpp"
#include "sandbox/process_tree.hpp"
#include "sandbox/run.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr std::size_t output_limit_bytes = 16 << 10;

std::string content(int fd) {
  std::string out(output_limit_bytes, '\0');
  const ssize_t n = ::pread(fd, out.data(), out.size(), 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

// What the actors of a broker do, for one command that nobody waits for long.
class trial_run {
public:
  trial_run(boost::asio::io_context& io, launched l)
      : launched_(std::move(l)), timer_(io),
        tree_(std::make_shared<process_tree>(io, launched_.bwrap, std::move(launched_.channel))) {}

  outcome wait(boost::asio::io_context& io, std::chrono::milliseconds limit) {
    tree_->start({[this](const init::header& h, const std::string& text,
                         const std::vector<ipc::unique_fd>&) { take(h, text); },
                  [this] {
                    timer_.cancel();
                    act(run_.on_gone(content(launched_.diagnostics.get())));
                  }});
    timer_.expires_after(limit);
    timer_.async_wait([this](boost::system::error_code ec) {
      if (!ec) {
        run_.on_end(end_reason::timeout);
        tree_->kill();
      }
    });
    io.run();
    return run_.result();
  }

private:
  void take(const init::header& h, const std::string& text) {
    switch (h.what) {
      case init::message::started:
        return act(run_.on_started());
      case init::message::exited:
        return act(run_.on_exited(static_cast<int>(h.a), h.cpu_us, h.peak_rss_kib));
      case init::message::failed:
        return act(run_.on_failed(h.a, static_cast<int>(h.b), text));
      default:
        return;
    }
  }

  void act(run::step what) {
    if (what == run::step::terminate || what == run::step::kill)
      tree_->kill();
  }

  launched launched_;
  run run_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<process_tree> tree_;
};

} // namespace

trial try_sandbox(const config::settings& settings, policy_inputs from,
                  const std::vector<std::string>& arguments, std::chrono::milliseconds limit) {
  trial out;
  const auto begun = std::chrono::steady_clock::now();
  auto workspace = scratch::make(from.temp_dir);
  const ipc::unique_fd written(::memfd_create("output", MFD_CLOEXEC));
  if (!workspace || !written) {
    out.problem = workspace ? std::string("cannot make a memory file: ") + std::strerror(errno)
                            : workspace.failed().text;
    return out;
  }
  from.workspace = workspace->path();
  launch_request request;
  request.arguments = arguments;
  request.variables = minimal(environment::of_this_process());
  request.directory = workspace->path();
  request.stdio = {-1, written.get(), -1};
  request.new_session = true;
  sigemptyset(&request.signal_mask);
  auto started = launch(settings, from, request);
  if (!started) {
    out.problem = started.failed().text;
    return out;
  }
  boost::asio::io_context io(1);
  const outcome how = trial_run(io, std::move(*started)).wait(io, limit);
  out.made = how.started && !how.timed_out && how.problem.empty();
  out.exit_code = how.exit_code;
  out.problem = how.timed_out ? "it did not end in time" : how.problem;
  out.output = content(written.get());
  out.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  return out;
}

} // namespace piorch::sandbox
