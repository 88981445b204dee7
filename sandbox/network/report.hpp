// What a sandbox did on the network, for the `network` list of command.run and
// of the exec report: one entry per distinct (host, port, decision, source), in
// order of first occurrence, bounded. Pure, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace piorch::sandbox::network {

struct network_event {
  std::string host; // canonical, or the printable form of what was refused
  std::uint16_t port = 0;
  std::string decision; // "allow" or "deny"
  std::string source;   // see source:: in decision.hpp
};

inline bool operator==(const network_event& a, const network_event& b) {
  return a.port == b.port && a.host == b.host && a.decision == b.decision && a.source == b.source;
}

class network_report {
public:
  // True if the event was new and is now listed.
  bool add(network_event event);

  const std::vector<network_event>& events() const { return events_; }
  // Distinct events that did not fit into limits::network_events.
  std::size_t dropped() const { return dropped_; }

private:
  std::vector<network_event> events_;
  std::size_t dropped_ = 0;
};

} // namespace piorch::sandbox::network
