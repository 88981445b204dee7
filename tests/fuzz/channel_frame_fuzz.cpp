// fuzz: ipc
// The first byte is the size of the pieces; the rest is what a broker (or what
// took its place) sends. Frames come out within their bounds, or the stream is
// broken for good.
#include "ipc/channel_frame.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

using namespace piorch::ipc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1)
    return 0;
  const std::size_t piece = std::size_t{bytes[0]} + 1;
  const std::string stream(reinterpret_cast<const char*>(bytes + 1), size - 1);
  frame_parser in;
  std::string again;
  std::size_t at = 0;
  while (at < stream.size() && in.broken() == nullptr) {
    const auto space = in.prepare();
    PIORCH_REQUIRE(space.size >= 1);
    const std::size_t n = std::min({piece, space.size, stream.size() - at});
    std::memcpy(space.begin, stream.data() + at, n);
    in.commit(n);
    at += n;
    while (const auto f = in.next()) {
      PIORCH_REQUIRE(f->payload.size() <= frame_limit(f->type));
      append_frame(again, f->type, f->payload);
    }
  }
  PIORCH_REQUIRE(stream.compare(0, again.size(), again) == 0);
  PIORCH_REQUIRE(in.broken() != nullptr || !in.at_boundary() || again == stream);
  return 0;
}
