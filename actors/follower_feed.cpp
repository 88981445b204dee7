#include "actors/follower_feed.hpp"

namespace piorch::actors {

std::string event_line(const std::string& session_id, const std::string& event_json) {
  // The event as the journal has it is the params without the session's id. Ids
  // are hex digits: nothing to escape.
  std::string line;
  line.reserve(event_json.size() + session_id.size() + 80);
  line += R"({"jsonrpc":"2.0","method":"session.event","params":{"sessionId":")";
  line += session_id;
  line += "\",";
  line.append(event_json, 1);
  line += '}';
  return line;
}

} // namespace piorch::actors
