#include "orchestration/slots.hpp"

namespace piorch::orchestration {

result<unsigned> slots::take(const std::string& id, unsigned parent_depth) {
  if (parent_depth >= depth_max_)
    return error{failure::limit_reached,
                 "subagent nesting depth limit reached (" + std::to_string(depth_max_) + ")"};
  if (taken_.size() >= live_max_)
    return error{failure::limit_reached,
                 "subagent concurrency limit reached (" + std::to_string(live_max_) + ")"};
  if (!taken_.insert(id).second)
    return error{failure::fault, "session id " + id + " is already in use"};
  return parent_depth + 1;
}

} // namespace piorch::orchestration
