// Cuts a byte stream into LF-terminated lines of bounded length. Bytes are read
// straight into the buffer and lines are handed out as views into it, so that
// nothing is copied but the unfinished tail when the buffer is compacted.
//
//   auto space = in.prepare(n);  read into space, in.commit(bytes);
//   while (auto line = in.next()) ...
//   at end of stream: in.finish()
//
// A line longer than the limit is reported once, without its text, and skipped
// to its LF; its bytes are dropped as they come. Not thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace piorch::ipc {

class line_buffer {
public:
  enum class kind {
    complete,  // text is the line without its LF
    oversized, // a line passed the limit; text is empty
    partial,   // the stream ended in the middle of a line
  };
  struct line {
    kind what;
    std::string_view text; // valid until the next prepare()
  };
  struct space {
    char* begin;
    std::size_t size;
  };

  // A line may have limit_bytes bytes, its LF not counted.
  explicit line_buffer(std::size_t limit_bytes) : limit_(limit_bytes) {}

  // At least one byte and at most `wish` bytes to read into. Ends the life of
  // every view handed out. All complete lines must have been taken by next().
  space prepare(std::size_t wish);
  // `count` bytes of the space have been filled.
  void commit(std::size_t count) { end_ += count; }
  // The next line, or nothing: read more.
  std::optional<line> next();
  // The half line at the end of the stream, if there is one; empties the buffer.
  std::optional<line> finish();

  std::size_t capacity() const noexcept { return capacity_; }

private:
  void make_room(std::size_t wish);

  std::size_t limit_;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;   // first byte not handed out
  std::size_t scanned_ = 0; // no LF in [begin_, scanned_)
  std::size_t end_ = 0;     // end of what was read
  bool skipping_ = false;   // inside an oversized line that was reported
};

} // namespace piorch::ipc
