// Frames a worker's stdout into lines (LF, an optional CR before it is dropped)
// with a bound: of a longer line nothing is kept, and it is reported once.
// Not thread-safe: one owner.
#pragma once

#include "config/limits.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace piorch::orchestration {

class worker_lines {
public:
  explicit worker_lines(std::size_t limit_bytes = limits::worker_line_bytes)
      : limit_(limit_bytes) {}

  // Calls on_line(std::string_view) for each complete line, on_skipped() as
  // soon as one has grown over the limit.
  template <class Line, class Skipped>
  void feed(std::string_view bytes, Line&& on_line, Skipped&& on_skipped) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const auto piece = bytes.substr(0, end);
      if (!skipping_ && piece.size() > limit_ - kept_.size()) {
        skipping_ = true;
        drop();
        on_skipped();
      }
      if (end == std::string_view::npos) {
        if (!skipping_)
          kept_ += piece;
        return;
      }
      bytes.remove_prefix(end + 1);
      if (std::exchange(skipping_, false))
        continue;
      if (kept_.empty()) {
        on_line(without_cr(piece)); // the usual case: no copy
        continue;
      }
      kept_ += piece;
      on_line(without_cr(kept_));
      drop();
    }
  }

  std::size_t held_bytes() const noexcept { return kept_.capacity(); }

private:
  static std::string_view without_cr(std::string_view line) noexcept {
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    return line;
  }

  // One long line must not cost its size for the rest of the session.
  void drop() {
    kept_.clear();
    if (kept_.capacity() > 64u << 10)
      kept_.shrink_to_fit();
  }

  std::size_t limit_;
  std::string kept_;
  bool skipping_ = false;
};

} // namespace piorch::orchestration
