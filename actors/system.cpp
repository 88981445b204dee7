#include "actors/system.hpp"

#include "actors/broker_process.hpp"
#include "actors/connection.hpp"
#include "actors/worker_links.hpp"
#include "actors/worker_supervisor.hpp"
#include "ipc/instance.hpp"
#include "sandbox/files.hpp"

#include <boost/asio/post.hpp>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace piorch::actors {

namespace asio = boost::asio;

namespace {
// An actor that does not end would hold the process for ever; this is the end of
// waiting for it. The kernel takes care of the rest (brokers see their line end).
constexpr unsigned last_resort_seconds = 15;
} // namespace

result<std::unique_ptr<orchestrator>> orchestrator::open(system_options options) {
  auto directory = ipc::instance_directory::open(options.runtime_dir);
  if (!directory)
    return std::move(directory).failed();
  std::unique_ptr<orchestrator> self(new orchestrator(std::move(options)));
  self->directory_ = std::make_unique<ipc::instance_directory>(std::move(*directory));
  auto listening = ipc::listener::open(self->io_, *self->directory_, self->options_.instance);
  if (!listening)
    return std::move(listening).failed();
  self->listener_ = std::move(*listening);
  return self;
}

orchestrator::orchestrator(system_options options)
    : options_(std::move(options)), system_(config_), work_(io_.get_executor()), signals_(io_) {}

void orchestrator::run(const sigset_t& end_signals) {
  sandboxes_ = system_.spawn(sandbox_list_actor);
  start_broker_ = listed(start_brokers_on(io_, options_.broker), sandboxes_);
  approval_desk_options asking;
  asking.now = [] {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  };
  asking.id_prefix = std::to_string(::getpid()) + "-";
  desk_ = system_.spawn(approval_desk_actor, std::move(asking));
  if (options_.make_supervisor)
    supervisor_ = options_.make_supervisor(system_, start_broker_, desk_);
  keeper_options keeping;
  keeping.supervisor = supervisor_;
  keeping.idle_limit = options_.idle_limit;
  keeping.end = [this] { std::call_once(over_once_, [this] { over_.set_value(); }); };
  keeper_ = system_.spawn(keeper_actor, std::move(keeping));

  watch_signals(end_signals);
  if (options_.in)
    asio::post(io_, [this] { greet(std::move(options_.in), std::move(options_.out)); });
  listener_->start([this](ipc::unique_fd fd) { greet(std::move(fd), {}); });
  thread_ = std::thread([this] { io_.run(); });
  over_.get_future().wait();
  end_in_order();
}

void orchestrator::greet(ipc::unique_fd in, ipc::unique_fd out) {
  const bool is_private = static_cast<bool>(out);
  client_services services;
  services.commands = {start_broker_, desk_, options_.settings, sandboxes_, [this] {
                         return std::to_string(::getpid()) + "-c" + std::to_string(++last_command_);
                       }};
  services.supervisor = supervisor_;
  services.keeper = keeper_;
  services.sandboxes = sandboxes_;
  services.about = options_.about;
  if (options_.settings)
    services.supervise = [this](const auto& what, const auto& client) {
      return supervise(what, client);
    };
  connect_client(
      ipc::stream_session::make(io_, std::move(in), std::move(out)), [&](client_port port) {
        client_handle client = system_.spawn(client_actor, std::move(port), std::move(services));
        tell(keeper_, watch_client{caf::actor_cast<caf::actor>(client), is_private});
        return client;
      });
}

// On the client's thread. The socket is there before the client knows of it.
result<client_services::supervision>
orchestrator::supervise(const ipc::worker_supervise_params& what, const caf::actor& client) {
  auto settings = options_.settings();
  if (!settings)
    return std::move(settings).failed();
  worker_supervisor_options options;
  const auto project = sandbox::canonical(what.cwd);
  if (!project)
    return error{failure::usage, what.cwd + " is not a directory that exists"};
  options.project = *project;
  for (const auto& dir : what.worktree_dirs)
    options.worktrees.push_back(sandbox::canonical(dir).value_or(dir));
  options.policy.allowed = settings->network.allowed_domains;
  options.policy.denied = settings->network.denied_domains;
  options.approval_limit = settings->approvals.timeout;
  options.desk = desk_;
  options.client = client;
  options.now = [] {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  };
  client_services::supervision out;
  auto capability = ipc::new_capability();
  if (!capability)
    return std::move(capability).failed();
  out.place.capability = *capability;
  auto links = worker_links::open(io_, ipc::workers_directory(options_.runtime_dir),
                                  "pi-" + std::to_string(::getpid()), *capability);
  if (!links)
    return std::move(links).failed();
  options.close = [links = *links] { links->close(); };
  out.place.socket = (*links)->socket();
  out.supervisor = system_.spawn(worker_supervisor_actor, std::move(options));
  (*links)->start(out.supervisor);
  return out;
}

void orchestrator::watch_signals(const sigset_t& end_signals) {
  signals_.assign(::signalfd(-1, &end_signals, SFD_CLOEXEC | SFD_NONBLOCK));
  signals_.async_wait(asio::posix::descriptor_base::wait_read,
                      [this](boost::system::error_code ec) {
                        if (!ec)
                          tell(keeper_, end_and_leave{});
                      });
}

// facts: stop accepting; end what works; wait for the actors while the thread that
// their last words need still runs; then that thread; then the system.
void orchestrator::end_in_order() {
  ::alarm(last_resort_seconds);
  asio::post(io_, [this] {
    listener_->close();
    boost::system::error_code ignored;
    signals_.close(ignored);
  });
  for (const auto& root :
       {caf::actor_cast<caf::actor>(keeper_), caf::actor_cast<caf::actor>(supervisor_),
        caf::actor_cast<caf::actor>(desk_), caf::actor_cast<caf::actor>(sandboxes_)})
    if (root)
      caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
  system_.await_all_actors_done();
}

orchestrator::~orchestrator() {
  keeper_ = nullptr;
  desk_ = nullptr;
  sandboxes_ = nullptr;
  start_broker_ = nullptr;
  supervisor_ = nullptr;
  work_.reset();
  // Ends by itself when the last words are written (each connection has a second
  // for that) and the last broker is reaped.
  if (thread_.joinable())
    thread_.join();
}

} // namespace piorch::actors
