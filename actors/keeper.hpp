// The keeper actor: knows who is there and whether anybody still needs this
// orchestrator, and ends everything in order when it is time.
#pragma once

#include "actors/interfaces.hpp"

#include <functional>
#include <set>
#include <vector>

namespace piorch::actors {

struct keeper_options {
  supervisor_handle supervisor; // none: no sessions here
  span idle_limit{0};           // leave after so much time without anything; 0: stay
  std::function<void()> end;    // the process may end; any thread
};

class keeper_state {
public:
  static inline const char* name = "keeper";
  using pointer = keeper_handle::stateful_pointer<keeper_state>;
  using promise = caf::typed_response_promise<done>;

  explicit keeper_state(pointer self) : self_(self) {}

  void begin(keeper_options options);
  void on_client(const watch_client& c);
  void on_command(const caf::actor& command);
  caf::result<done> on_end();
  void on_leave();
  void on_end_and_leave();
  void on_idle_over(std::uint64_t since);

private:
  void changed();
  void end_commands();
  void answer_if_ended();

  pointer self_;
  keeper_options options_;
  watches watches_;
  std::set<caf::actor> clients_;
  bool left_ = false;
  std::uint64_t changes_ = 0;
  std::set<caf::actor> commands_;
  bool ending_ = false;
  bool sessions_ended_ = false;
  std::vector<promise> waiting_;
};

keeper_handle::behavior_type keeper_actor(keeper_state::pointer self, keeper_options options);

} // namespace piorch::actors
