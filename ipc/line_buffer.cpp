#include "ipc/line_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace piorch::ipc {

namespace {
constexpr std::size_t first_capacity = 16u << 10;
constexpr std::size_t kept_capacity = 256u << 10; // a rare huge line must not hold its memory
} // namespace

line_buffer::space line_buffer::prepare(std::size_t wish) {
  if (begin_ == end_) {
    begin_ = scanned_ = end_ = 0;
    if (capacity_ > kept_capacity) {
      bytes_.reset();
      capacity_ = 0;
    }
  }
  wish = std::max<std::size_t>(wish, 1);
  if (capacity_ - end_ < wish)
    make_room(wish);
  return {bytes_.get() + end_, std::min(wish, capacity_ - end_)};
}

void line_buffer::make_room(std::size_t wish) {
  const std::size_t used = end_ - begin_;
  // limit_ + 1 bytes tell a line at the limit from one beyond it.
  const std::size_t most = limit_ + 1 + kept_capacity;
  if (used + wish > capacity_ && capacity_ < most) {
    const std::size_t grown =
        std::min(most, std::max({first_capacity, capacity_ * 2, used + wish}));
    std::unique_ptr<char[]> bigger(new char[grown]); // not zeroed: it is read into
    if (used > 0)
      std::memcpy(bigger.get(), bytes_.get() + begin_, used);
    bytes_ = std::move(bigger);
    capacity_ = grown;
  } else if (begin_ > 0) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, used);
  }
  scanned_ -= begin_;
  end_ = used;
  begin_ = 0;
}

std::optional<line_buffer::line> line_buffer::next() {
  while (begin_ < end_) {
    const char* from = bytes_.get() + scanned_;
    const auto* lf = static_cast<const char*>(std::memchr(from, '\n', end_ - scanned_));
    if (lf == nullptr) {
      scanned_ = end_;
      if (skipping_) {
        begin_ = end_;
      } else if (end_ - begin_ > limit_) {
        skipping_ = true;
        begin_ = end_;
        return line{kind::oversized, {}};
      }
      return std::nullopt;
    }
    const char* start = bytes_.get() + begin_;
    const auto size = static_cast<std::size_t>(lf - start);
    begin_ += size + 1;
    scanned_ = begin_;
    if (skipping_) { // the end of a line that was reported before
      skipping_ = false;
      continue;
    }
    if (size > limit_)
      return line{kind::oversized, {}};
    return line{kind::complete, {start, size}};
  }
  return std::nullopt;
}

std::optional<line_buffer::line> line_buffer::finish() {
  const std::size_t size = end_ - begin_;
  const char* start = bytes_.get() + begin_;
  begin_ = scanned_ = end_;
  if (std::exchange(skipping_, false) || size == 0)
    return std::nullopt;
  return line{kind::partial, {start, size}};
}

} // namespace piorch::ipc
