// The newest events of a live session, in memory, once for all followers. Who
// asks for older ones reads them from disk. Not thread-safe (its events are
// immutable and may be read anywhere).
#pragma once

#include "orchestration/event_log.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace piorch::orchestration {

class event_buffer {
public:
  explicit event_buffer(std::size_t limit_bytes = limits::event_buffer_bytes)
      : limit_(limit_bytes) {}

  void push(event_ptr e) {
    bytes_ += e->json.size();
    next_ = e->seq + 1;
    events_.push_back(std::move(e));
    while (bytes_ > limit_ && events_.size() > 1) {
      bytes_ -= events_.front()->json.size();
      events_.pop_front();
    }
  }

  // Events from number `from` on, about `bytes` of them, possibly none. Nothing
  // when `from` is older than what is here.
  std::optional<std::vector<event_ptr>> page(std::uint64_t from,
                                             std::size_t bytes = limits::event_batch_bytes) const {
    std::vector<event_ptr> out;
    if (from >= next_)
      return out;
    if (events_.empty() || from < events_.front()->seq)
      return {};
    std::size_t given = 0;
    for (auto i = static_cast<std::size_t>(from - events_.front()->seq);
         i < events_.size() && given < bytes; ++i) {
      given += events_[i]->json.size();
      out.push_back(events_[i]);
    }
    return out;
  }

  // The oldest that is here; next_seq() when there is none.
  std::uint64_t first_seq() const noexcept {
    return events_.empty() ? next_ : events_.front()->seq;
  }
  std::uint64_t next_seq() const noexcept { return next_; }

private:
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  std::deque<event_ptr> events_; // seq without holes
};

} // namespace piorch::orchestration
