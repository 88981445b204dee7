// Events as session.event notifications: whole lines, put together into blocks.
#pragma once

#include "actors/event_ring.hpp"
#include "orchestration/event_reader.hpp"

#include <cstdint>
#include <string>

namespace piorch::actors {

// Builds a block of events in a row, line by line.
class event_block {
public:
  // `session_id`: hex digits, nothing to escape.
  event_block(const std::string& session_id, std::uint64_t first);

  // The next one, as the journal has it: {"seq":…,"time":…,"event":…}.
  void add(std::uint64_t seq, const std::string& event_json);
  bool is_full() const noexcept { return lines_.size() >= limits::event_batch_bytes; }
  bool empty() const noexcept { return lines_.empty(); }
  // What was added; goes on behind it.
  event_piece take();

private:
  std::string prefix_;
  std::string lines_;
  std::uint64_t first_, next_;
};

// The next events of a journal; empty at its end, and when it cannot be read.
event_piece read_piece(const std::string& session_id, orchestration::event_reader& reader);

} // namespace piorch::actors
