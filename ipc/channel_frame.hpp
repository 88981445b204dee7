// The frames between an orchestrator and a broker: four bytes of length (little
// endian, of the payload), one byte of type, payload. Pure: no descriptor here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace piorch::ipc {

enum class frame_type : std::uint8_t {
  // orchestrator -> broker
  job = 1,         // JSON: what to run; the first frame
  input,           // bytes for the command's standard input, within credit
  input_end,       // empty
  signal,          // one byte: signal number for the command
  approval_answer, // JSON
  stop,            // empty: end the whole tree now
  // broker -> orchestrator
  started = 32,    // empty: the command has been executed
  output,          // bytes of standard output, within credit
  error_output,    // bytes of standard error, within credit
  output_end,      // empty: both streams have ended
  network_event,   // JSON: one decision
  approval_ask,    // JSON
  approval_cancel, // JSON
  refused_file,    // JSON: a protected path that was touched
  exit_report,     // JSON; the last frame: tree and files are gone
  failed,          // JSON: it could not be run; the last frame
  // both
  credit = 64, // four bytes little endian: so many more stream bytes are welcome
};

struct frame {
  frame_type type;
  std::string_view payload; // into the parser's buffer
};

// Of the payload; 0 for a type that does not exist.
std::size_t frame_limit(frame_type type) noexcept;
// Whether the payload counts against the credit of its direction.
bool is_stream(frame_type type) noexcept;

inline constexpr std::size_t frame_header_bytes = 5;
void append_frame(std::string& out, frame_type type, std::string_view payload);
std::string credit_payload(std::uint32_t bytes);
std::optional<std::uint32_t> read_credit(std::string_view payload);

// Cuts a byte stream into frames; a view lives until the next prepare().
class frame_parser {
public:
  struct space {
    char* begin;
    std::size_t size;
  };
  space prepare();
  void commit(std::size_t count) { end_ += count; }
  // Nothing: read more, or broken().
  std::optional<frame> next();
  // Why the stream is no frames any more (for good); null while it is fine.
  const char* broken() const noexcept { return broken_; }
  // The stream may end here without a frame having been cut.
  bool at_boundary() const noexcept { return begin_ == end_; }

private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wanted_ = frame_header_bytes; // of the frame that has begun
  const char* broken_ = nullptr;
};

} // namespace piorch::ipc
