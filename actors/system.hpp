// The whole orchestrator: creates everything in order and ends it in the reverse
// one (docs/ARCHITECTURE.md). Owns the Asio thread, the actor system, the socket
// and, for a private instance, the connection on stdin and stdout.
//
// Made and destroyed on the main thread, after the signals it waits for have been
// blocked there. Brokers are started on the Asio thread, which lives until the
// last of them has ended.
#pragma once

#include "actors/approval_desk.hpp"
#include "actors/client.hpp"
#include "actors/keeper.hpp"
#include "actors/sandbox_list.hpp"
#include "config/settings.hpp"
#include "ipc/instance.hpp"
#include "ipc/listener.hpp"
#include "ipc/unique_fd.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace piorch::actors {

struct system_options {
  std::string runtime_dir; // where orchestrators of this user meet
  std::string instance;    // name of the socket
  std::string broker;      // absolute path of piorch-broker
  span idle_limit{0};      // leave when nobody was here for so long; 0: stay
  ipc::unique_fd in, out;  // a private instance's client
  ipc::initialize_result about;
  // Makes the supervisor; none: no sessions.
  std::function<supervisor_handle(caf::actor_system&, broker_starter, approval_desk_handle)>
      make_supervisor;
  // The trusted settings as they are now; none: the defaults, and no workers of pi-subagents.
  std::function<result<config::settings>()> settings;
};

class orchestrator {
public:
  // Listens already when it returns. `out` of a private client is not read yet.
  static result<std::unique_ptr<orchestrator>> open(system_options options);
  ~orchestrator();

  // Serves until nobody needs it, it is told to shut down, or a signal of
  // `end_signals` (blocked) arrives.
  void run(const sigset_t& end_signals);

private:
  struct actor_config : caf::actor_system_config {
    actor_config() { configure(*this, 1); }
  };
  explicit orchestrator(system_options options);
  void greet(ipc::unique_fd in, ipc::unique_fd out);
  result<client_services::supervision> supervise(const ipc::worker_supervise_params& what,
                                                 const caf::actor& client);
  void watch_signals(const sigset_t& end_signals);
  void end_in_order();

  system_options options_;
  std::unique_ptr<ipc::instance_directory> directory_;
  actor_config config_;
  caf::actor_system system_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::posix::stream_descriptor signals_;
  std::unique_ptr<ipc::listener> listener_;
  supervisor_handle supervisor_;
  keeper_handle keeper_;
  approval_desk_handle desk_;
  sandbox_list_handle sandboxes_;
  broker_starter start_broker_; // has what it starts listed there
  std::atomic<std::uint64_t> last_command_{0};
  std::promise<void> over_;
  std::once_flag over_once_;
  std::thread thread_;
};

} // namespace piorch::actors
