#include "actors/event_lines.hpp"

#include <utility>

namespace piorch::actors {

event_block::event_block(const std::string& session_id, std::uint64_t first)
    : prefix_(R"({"jsonrpc":"2.0","method":"session.event","params":{"sessionId":")" + session_id +
              "\","),
      first_(first), next_(first) {}

void event_block::add(std::uint64_t seq, const std::string& event_json) {
  // An event as the journal has it is the params without the session's id.
  lines_.append(prefix_).append(event_json, 1).append("}\n");
  next_ = seq + 1;
}

event_piece event_block::take() {
  lines_.shrink_to_fit(); // it stays as long as a follower needs it
  event_piece piece{first_, next_, ipc::shared_bytes(std::exchange(lines_, {}))};
  first_ = next_;
  return piece;
}

event_piece read_piece(const std::string& session_id, orchestration::event_reader& reader) {
  event_block block(session_id, reader.next_seq());
  if (const auto page = reader.next())
    for (const auto& e : *page)
      block.add(e->seq, e->json);
  return block.take();
}

} // namespace piorch::actors
