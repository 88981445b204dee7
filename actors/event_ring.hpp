// The newest events of a live session in memory, once for all followers: blocks of
// whole notification lines, each encoded once. Who asks for older ones reads them from
// the journal. A value; one owner (its blocks are immutable and may be read anywhere).
#pragma once

#include "config/limits.hpp"
#include "ipc/shared_bytes.hpp"

#include <cstdint>
#include <deque>
#include <optional>

namespace piorch::actors {

// Events in a row, as their followers get them.
struct event_piece {
  std::uint64_t first = 1; // number of the first of them
  std::uint64_t next = 1;  // of the one that comes after them
  ipc::shared_bytes lines; // with their LFs

  bool empty() const noexcept { return first == next; }
};

class event_ring {
public:
  explicit event_ring(std::size_t limit_bytes = limits::event_buffer_bytes) : limit_(limit_bytes) {}

  // `piece.first` is next_seq().
  void push(event_piece piece) {
    bytes_ += piece.lines.size();
    next_ = piece.next;
    blocks_.push_back(std::move(piece));
    while (bytes_ > limit_ && blocks_.size() > 1) {
      bytes_ -= blocks_.front().lines.size();
      blocks_.pop_front();
    }
  }

  // Events from number `from` on, not more than one block; empty when there is none yet.
  // Nothing when `from` is older than what is here.
  std::optional<event_piece> at(std::uint64_t from) const;

  // The oldest that is here; next_seq() when there is none.
  std::uint64_t first_seq() const noexcept {
    return blocks_.empty() ? next_ : blocks_.front().first;
  }
  std::uint64_t next_seq() const noexcept { return next_; }

private:
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  std::deque<event_piece> blocks_; // without holes
};

} // namespace piorch::actors
