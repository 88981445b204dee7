// One sandbox inside a broker process: the actor system, the process tree, the network,
// the memory group and the report.
//
// Lives on the main thread, which runs the io_context; the front's functions are
// called there.
#pragma once

#include "actors/broker.hpp"
#include "sandbox/hand_over.hpp"
#include "sandbox/memory_group.hpp"
#include "sandbox/process_tree.hpp"
#include "sandbox/report.hpp"
#include "tools/piorch-broker/network_side.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace piorch::broker {

// All but `ended` may be empty.
struct front {
  std::function<void()> started = {};                              // the command runs
  std::function<void(const sandbox::refused_entry&)> refused = {}; // a path
  // The tree is gone and everything is removed. The last call.
  std::function<void(const sandbox::exec_report&)> ended;
  // The listening socket at limits::nested_workers_port, where the job has one.
  std::function<void(ipc::unique_fd)> nested = {};
  std::function<void()> stopped = {};             // the command, by its terminal's job control
  std::function<void(bool everything)> held = {}; // answers hold(true)
};

class sandbox_host {
public:
  // `job` outlives the host; its bwrap has been started by this thread.
  sandbox_host(boost::asio::io_context& io, sandbox::hand_over& job, front to, approver asks);

  void end(sandbox::end_reason why);
  void deliver(int signal);
  void hold(bool everything); // or lets it go on
  void resume(bool in_foreground);
  void answer(std::uint64_t question, const std::string& source, bool allow,
              const std::string& reason);

private:
  struct actor_config : caf::actor_system_config {
    actor_config() { actors::configure(*this, 1); }
  };
  template <class Function> auto on_io(Function f);
  actors::broker_port port();
  actors::tree_control control();
  void start(const actors::sandbox_handle& s);
  void listen(std::vector<ipc::unique_fd>& listeners);
  void started(std::chrono::microseconds at);
  void refused(const actors::path_refused& r);
  void ended(const sandbox::outcome& how);
  void leave();
  std::string diagnostics() const;

  boost::asio::io_context& io_;
  sandbox::hand_over& job_;
  front to_;
  actor_config config_;
  caf::actor_system system_;
  boost::asio::steady_timer memory_timer_;
  std::shared_ptr<sandbox::process_tree> tree_;
  network_side network_;
  actors::broker_handle broker_;
  sandbox::memory_group memory_;
  sandbox::exec_report report_;
  std::chrono::microseconds started_{0};
  bool told_to_end_ = false;
  bool finishing_ = false; // the command has ended, its last bytes are on their way
};

} // namespace piorch::broker
