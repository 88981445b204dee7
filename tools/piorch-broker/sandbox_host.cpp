#include "tools/piorch-broker/sandbox_host.hpp"

#include "config/network_limits.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/files.hpp"
#include "sandbox/scratch.hpp"

#include <boost/asio/post.hpp>
#include <unistd.h>
#include <utility>

namespace piorch::broker {

namespace asio = boost::asio;
using std::chrono::microseconds;

namespace {

constexpr std::size_t max_refused_paths = 100;
constexpr std::size_t max_diagnostics_bytes = 4096;
// Commands that end sooner never pay for a cgroup (see memory_group).
constexpr std::chrono::milliseconds memory_group_after{100};

} // namespace

// For actors, on their thread: the work is done on the main thread.
template <class Function> auto sandbox_host::on_io(Function f) {
  return [this, f](auto... xs) { asio::post(io_, [f, xs...] { f(xs...); }); };
}

sandbox_host::sandbox_host(asio::io_context& io, sandbox::hand_over& job, front to, approver asks)
    : io_(io), job_(job), to_(std::move(to)), system_(config_), memory_timer_(io),
      tree_(std::make_shared<sandbox::process_tree>(io, job.bwrap, std::move(job.channel))),
      network_(io, system_, job.settings, job.trusted_file, std::move(asks)) {
  broker_ = system_.spawn(actors::broker_actor, port(), control(), job_.time_limit,
                          on_io([this](const actors::sandbox_handle& s) { start(s); }));
  // What killed processes of before have left.
  asio::post(io_, [this] { sandbox::sweep_scratch(job_.temp_dir); });
}

void sandbox_host::end(sandbox::end_reason why) {
  told_to_end_ = true;
  if (finishing_) {
    network_.stop();
    return leave();
  }
  actors::tell(broker_, actors::end_sandbox{why});
}
void sandbox_host::deliver(int signal) { actors::tell(broker_, actors::deliver_signal{signal}); }
void sandbox_host::hold(bool all) { actors::tell(broker_, actors::hold_tree{all}); }
void sandbox_host::resume(bool in_foreground) {
  actors::tell(broker_, actors::resume_command{in_foreground});
}
void sandbox_host::answer(std::uint64_t question, const std::string& source, bool allow,
                          const std::string& reason) {
  network_.answer(question, allow, source, reason);
}

actors::broker_port sandbox_host::port() {
  actors::broker_port p;
  p.started = on_io([this](std::uint64_t at) { started(microseconds(at)); });
  p.listening = on_io([this](const actors::shared_fds& fds) { listen(*fds); });
  // Without a terminal a command must not stop its own time limit.
  p.stopped = [](int) {};
  if (to_.stopped)
    p.stopped = on_io([this](int) { to_.stopped(); });
  if (to_.held)
    p.held = on_io([this](bool everything) { to_.held(everything); });
  p.refused = on_io([this](const actors::path_refused& r) { refused(r); });
  p.ended = on_io([this](const sandbox::outcome& how) { ended(how); });
  return p;
}

actors::tree_control sandbox_host::control() {
  actors::tree_control c;
  c.send = on_io([this](sandbox::init::message what, std::uint32_t a) { tree_->send(what, a); });
  c.kill = on_io([this] { tree_->kill(); });
  return c;
}

// The tree speaks to the sandbox actor only, so it may speak once that exists.
void sandbox_host::start(const actors::sandbox_handle& s) {
  tree_->start(
      {[s](const sandbox::init::header& h, std::string text, std::vector<ipc::unique_fd> fds) {
         auto shared = std::make_shared<std::vector<ipc::unique_fd>>(std::move(fds));
         actors::tell(s, actors::init_said{h, std::move(text), std::move(shared)});
       },
       [this, s] { actors::tell(s, actors::tree_gone{diagnostics()}); }});
}

void sandbox_host::listen(std::vector<ipc::unique_fd>& listeners) {
  for (ipc::unique_fd& fd : listeners)
    if (to_.nested && listening_port(fd.get()) == limits::nested_workers_port)
      to_.nested(std::move(fd));
  network_.listen(listeners);
}

void sandbox_host::started(microseconds at) {
  started_ = at;
  memory_timer_.expires_after(memory_group_after);
  memory_timer_.async_wait([this](boost::system::error_code ec) {
    if (ec || tree_->init_pid() <= 0)
      return;
    memory_ =
        sandbox::memory_group::place(tree_->init_pid(), job_.settings.limits.memory_mib << 20);
    sandbox::sweep_memory_groups(); // of brokers that had to be killed
  });
  if (to_.started)
    to_.started();
}

void sandbox_host::refused(const actors::path_refused& r) {
  if (report_.refused_paths.size() >= max_refused_paths)
    return;
  report_.refused_paths.push_back({r.path, r.rule});
  if (to_.refused)
    to_.refused(report_.refused_paths.back());
}

void sandbox_host::ended(const sandbox::outcome& how) {
  const microseconds now(sandbox::monotonic_us());
  memory_timer_.cancel();
  job_.temp.remove();
  job_.beside.remove();
  report_.out_of_memory = memory_.ended_something();
  memory_ = {};
  const microseconds begun(job_.begun_us);
  report_.how = how;
  report_.setup = how.started ? started_ - begun : now - begun;
  report_.duration = how.started ? now - started_ : microseconds(0);
  finishing_ = true;
  // Whom somebody ended is not waited for.
  if (told_to_end_ || how.timed_out || how.cancelled || !how.started) {
    network_.stop();
    return leave();
  }
  network_.finish([this] { leave(); });
}

void sandbox_host::leave() {
  if (!std::exchange(finishing_, false))
    return;
  report_.network = network_.report();
  to_.ended(report_);
}

std::string sandbox_host::diagnostics() const {
  std::string text(max_diagnostics_bytes, '\0');
  const ssize_t n = ::pread(job_.diagnostics.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

} // namespace piorch::broker
