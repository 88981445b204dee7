// What one follower of a session is owed: where it is, and how much is on its way
// to it. A value without actors, so that live sessions and replays share it.
#pragma once

#include "config/limits.hpp"
#include "orchestration/event_buffer.hpp"
#include "orchestration/event_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace piorch::actors {

// Whole notification lines, made once and shared by all who get them.
using shared_lines = std::shared_ptr<const std::vector<std::string>>;

// {"seq":…,"time":…,"event":…} as the session.event notification.
std::string event_line(const std::string& session_id, const std::string& event_json);

class follower_feed {
public:
  explicit follower_feed(std::uint64_t from) : next_(std::max<std::uint64_t>(from, 1)) {}

  // Events from this number on are still owed.
  std::uint64_t next() const noexcept { return next_; }
  bool has_room() const noexcept { return on_the_way_ < limits::follower_window_bytes; }

  void sent(const std::vector<std::string>& lines, std::uint64_t next) {
    for (const auto& l : lines)
      on_the_way_ += l.size();
    next_ = next;
  }
  void taken(std::size_t bytes) noexcept { on_the_way_ -= std::min(bytes, on_the_way_); }

  // The next lines from memory, or from disk when they are not there any more.
  // Empty: the follower has everything. `reader_of(from)` opens the journal.
  template <class ReaderOf>
  std::vector<std::string> page(const std::string& session_id,
                                const orchestration::event_buffer& memory, ReaderOf&& reader_of,
                                std::uint64_t& next_after) {
    next_after = next_;
    auto events = memory.page(next_);
    if (events) {
      reader_.reset();
    } else {
      if (!reader_ || reader_->next_seq() != next_) {
        reader_.reset();
        if (auto r = reader_of(next_))
          reader_ = std::make_unique<orchestration::event_reader>(std::move(*r));
      }
      if (reader_)
        if (auto page = reader_->next(); page)
          events = std::move(*page);
    }
    std::vector<std::string> lines;
    for (const auto& e : events ? *events : std::vector<orchestration::event_ptr>()) {
      lines.push_back(event_line(session_id, e->json));
      next_after = e->seq + 1;
    }
    return lines;
  }

private:
  std::uint64_t next_;
  std::size_t on_the_way_ = 0;
  std::unique_ptr<orchestration::event_reader> reader_;
};

} // namespace piorch::actors
