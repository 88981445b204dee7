// How many sessions may live at a time and how deep they may nest. Only the
// supervisor counts here; nothing that a worker can change is ever asked.
// Not thread-safe: one owner.
#pragma once

#include "config/limits.hpp"
#include "config/result.hpp"

#include <cstddef>
#include <set>
#include <string>

namespace piorch::orchestration {

class slots {
public:
  explicit slots(std::size_t live = limits::live_sessions, unsigned depth = limits::session_depth)
      : live_max_(live), depth_max_(depth) {}

  // A slot for session `id` below a parent of `parent_depth` (0: no parent).
  // Gives the new session's depth, or failure::limit_reached with the sentence
  // of the contract. Depth is judged first: it can never become right by waiting.
  result<unsigned> take(const std::string& id, unsigned parent_depth);

  // The whole process tree of `id` is gone. A second time does nothing.
  void tree_gone(const std::string& id) { taken_.erase(id); }

  std::size_t taken() const noexcept { return taken_.size(); }
  std::size_t live_max() const noexcept { return live_max_; }
  unsigned depth_max() const noexcept { return depth_max_; }

private:
  std::size_t live_max_;
  unsigned depth_max_;
  std::set<std::string> taken_;
};

} // namespace piorch::orchestration
