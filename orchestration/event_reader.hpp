// Reads the events of one session from disk, page by page, from any number on,
// also while they are being written and rotated. Events that were dropped or
// lost are replaced by one gap event, never passed over. Not thread-safe.
#pragma once

#include "orchestration/event_log.hpp"

#include <vector>

namespace piorch::orchestration {

class event_reader {
public:
  // `directory` is the session's.
  event_reader(file directory, std::uint64_t from)
      : directory_(std::move(directory)), next_(from ? from : 1) {}

  // The next events, about `bytes` of them; none at the end. Reading further
  // later continues there. Lines that are no events are passed over.
  result<std::vector<event_ptr>> next(std::size_t bytes = limits::event_batch_bytes);

  // The number of the newest event, without reading all before it; 0: none.
  result<std::uint64_t> last_seq() const;

  std::uint64_t next_seq() const noexcept { return next_; }

private:
  result<bool> open_file();
  result<bool> fill();
  void take(std::string_view line, std::vector<event_ptr>& out);

  file directory_;
  file current_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0; // of what follows pending_
  std::string pending_;      // read, not yet given out
  std::size_t pending_at_ = 0;
  std::uint64_t next_;
};

} // namespace piorch::orchestration
