#include "sandbox/network/report.hpp"

#include "config/network_limits.hpp"

#include <algorithm>

namespace piorch::sandbox::network {

bool network_report::add(network_event event) {
  // The latest entries are the likely repeats (a keep-alive client, a retry).
  if (std::find(events_.rbegin(), events_.rend(), event) != events_.rend())
    return false;
  if (events_.size() >= limits::network_events) {
    ++dropped_;
    return false;
  }
  events_.push_back(std::move(event));
  return true;
}

} // namespace piorch::sandbox::network
