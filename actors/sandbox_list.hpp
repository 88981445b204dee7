// The list of what runs in an orchestrator's sandboxes, for command.list: commands of
// all clients and workers of sessions, from the start of their broker to its end. CPU
// and memory are measured when somebody asks, at most once a second, and every
// second while somebody watches; otherwise nothing happens here. Keeps what commands were
// refused, for command.report.
#pragma once

#include "actors/change_waiters.hpp"
#include "actors/command_records.hpp"
#include "actors/interfaces.hpp"
#include "actors/remote_broker.hpp"

#include <chrono>
#include <map>

namespace piorch::actors {

class sandbox_list_state {
public:
  static inline const char* name = "sandbox_list";
  using pointer = sandbox_list_handle::stateful_pointer<sandbox_list_state>;

  explicit sandbox_list_state(pointer self) : self_(self) {}

  void begun(const sandbox_begun& what);
  void command(const command_begun& what);
  void command(const command_noted& what);
  void command(const command_over& what);
  caf::result<ipc::command_report_result> report(const ipc::command_report_params& what);
  void measure_due_now();
  caf::result<ipc::command_list_result> list(const ipc::command_list_params& what);

private:
  bool measure(); // has anything changed?
  void changed();
  ipc::command_list_result everything() const;

  pointer self_;
  watches watches_;
  std::map<std::uint64_t, sandbox_begun> running_; // by their number, the oldest first
  std::uint64_t last_number_ = 0;
  std::uint64_t revision_ = 1;
  command_records records_;
  bool clock_runs_ = false;
  std::chrono::steady_clock::time_point measured_{};
  change_waiters<ipc::command_list_params, ipc::command_list_result> watching_;
};

sandbox_list_handle::behavior_type sandbox_list_actor(sandbox_list_state::pointer self);

// Starts brokers as `start` does, and has each of them listed.
broker_starter listed(broker_starter start, sandbox_list_handle list);

} // namespace piorch::actors
