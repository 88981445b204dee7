// The worker supervisor: one actor per Pi session that lets pi-subagents start its workers
// (worker.supervise). Signs them in and out by the rules of orchestration/external_workers, has
// an actor for each, and tells the client who came and how each ended. Ends with its client.
#pragma once

#include "actors/external_worker.hpp"
#include "orchestration/external_workers.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace piorch::actors {

struct worker_supervisor_options {
  std::string project; // canonical
  std::vector<std::string> worktrees;
  ipc::worker_policy policy;
  std::chrono::milliseconds approval_limit{0};
  approval_desk_handle desk;
  caf::actor client;
  std::function<orchestration::instant()> now;
  std::function<void()> close; // the socket and its connections; any thread
};

class worker_supervisor_state {
public:
  static inline const char* name = "worker_supervisor";
  using pointer = worker_supervisor_handle::stateful_pointer<worker_supervisor_state>;
  static constexpr std::chrono::seconds heartbeat{10};

  explicit worker_supervisor_state(pointer self) : self_(self) {}
  ~worker_supervisor_state();

  void begin(worker_supervisor_options options);
  void on_said(const worker_said& said);
  void on_link_closed(std::uint64_t link);

private:
  void sign_in(const worker_said& said);
  void sign_out(const worker_said& said);
  void ask(const worker_said& said);
  void report(const orchestration::external_worker& worker);
  void over(const std::vector<orchestration::external_worker>& ended);

  pointer self_;
  worker_supervisor_options options_;
  watches watches_;
  std::unique_ptr<orchestration::external_workers> book_;
  std::map<std::string, external_worker_handle> workers_; // by id
};

worker_supervisor_handle::behavior_type
worker_supervisor_actor(worker_supervisor_state::pointer self, worker_supervisor_options options);

} // namespace piorch::actors
