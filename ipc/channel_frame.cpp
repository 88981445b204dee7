#include "ipc/channel_frame.hpp"

#include "config/limits.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace piorch::ipc {

namespace {
constexpr std::size_t note_bytes = 64u << 10;                      // small JSON
constexpr std::size_t job_bytes = limits::protocol_line_bytes * 2; // a 16 MiB request, escaped
constexpr std::size_t kept_capacity = 2 * limits::channel_chunk_bytes;

std::uint32_t read_u32(const char* from) {
  const auto* b = reinterpret_cast<const unsigned char*>(from);
  return static_cast<std::uint32_t>(b[0]) | static_cast<std::uint32_t>(b[1]) << 8 |
         static_cast<std::uint32_t>(b[2]) << 16 | static_cast<std::uint32_t>(b[3]) << 24;
}
void append_u32(std::string& out, std::uint32_t v) {
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(v >> shift & 0xff);
}
} // namespace

std::size_t frame_limit(frame_type type) noexcept {
  switch (type) {
    case frame_type::job:
      return job_bytes;
    case frame_type::input:
    case frame_type::output:
    case frame_type::error_output:
      return limits::channel_chunk_bytes;
    case frame_type::exit_report: // lists every connection
      return 16 * note_bytes;
    case frame_type::approval_ask: // holds the command
      return job_bytes;
    case frame_type::approval_answer:
    case frame_type::network_event:
    case frame_type::approval_cancel:
    case frame_type::refused_file:
    case frame_type::failed:
      return note_bytes;
    case frame_type::credit:
      return 4;
    case frame_type::signal:
    case frame_type::input_end:
    case frame_type::stop:
    case frame_type::started:
    case frame_type::output_end:
      return 1;
  }
  return 0;
}

bool is_stream(frame_type type) noexcept {
  return type == frame_type::input || type == frame_type::output ||
         type == frame_type::error_output;
}

void append_frame(std::string& out, frame_type type, std::string_view payload) {
  assert(payload.size() <= frame_limit(type));
  append_u32(out, static_cast<std::uint32_t>(payload.size()));
  out += static_cast<char>(type);
  out += payload;
}

std::string credit_payload(std::uint32_t bytes) {
  std::string out;
  append_u32(out, bytes);
  return out;
}

std::optional<std::uint32_t> read_credit(std::string_view payload) {
  if (payload.size() != 4)
    return std::nullopt;
  return read_u32(payload.data());
}

frame_parser::space frame_parser::prepare() {
  const std::size_t used = end_ - begin_;
  if (used == 0) {
    begin_ = end_ = 0;
    if (capacity_ > kept_capacity) {
      bytes_.reset();
      capacity_ = 0;
    }
  }
  const std::size_t need = std::max(wanted_, used + 1);
  if (capacity_ < need) {
    const std::size_t grown = std::max(need, kept_capacity);
    std::unique_ptr<char[]> bigger(new char[grown]);
    if (used > 0)
      std::memcpy(bigger.get(), bytes_.get() + begin_, used);
    bytes_ = std::move(bigger);
    capacity_ = grown;
    begin_ = 0;
    end_ = used;
  } else if (begin_ + need > capacity_) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, used);
    begin_ = 0;
    end_ = used;
  }
  return {bytes_.get() + end_, capacity_ - end_};
}

std::optional<frame> frame_parser::next() {
  if (broken_ != nullptr || end_ - begin_ < frame_header_bytes)
    return std::nullopt;
  const char* at = bytes_.get() + begin_;
  const std::size_t size = read_u32(at);
  const auto type = static_cast<frame_type>(at[4]);
  const std::size_t most = frame_limit(type);
  if (most == 0) {
    broken_ = "a frame of unknown type";
    return std::nullopt;
  }
  if (size > most) {
    broken_ = "a frame larger than its type allows";
    return std::nullopt;
  }
  wanted_ = frame_header_bytes + size;
  if (end_ - begin_ < wanted_)
    return std::nullopt;
  begin_ += std::exchange(wanted_, frame_header_bytes);
  return frame{type, {at + frame_header_bytes, size}};
}

} // namespace piorch::ipc
