// The sandbox actor: one per process tree. It owns the run (what to do next) and
// asks for effects through tree_control, which works on the Asio thread.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <functional>

namespace piorch::actors {

// What the sandbox actor may do to its processes; callable from any thread.
struct tree_control {
  std::function<void(sandbox::init::message, std::uint32_t)> send;
  std::function<void()> kill;
};

struct sandbox_state {
  static inline const char* name = "sandbox";
  sandbox::run run;
  tree_control control;
};

// `owner` is told what happens. `time_limit` counts from the start of the
// command; zero: none.
sandbox_handle::behavior_type sandbox_actor(sandbox_handle::stateful_pointer<sandbox_state> self,
                                            broker_handle owner, tree_control control,
                                            std::chrono::milliseconds time_limit);

} // namespace piorch::actors
