// fuzz: ipc
// The first byte is the limit, the second the size of the pieces; the rest is a
// stream. Whatever the pieces, the lines are those of a plain split.
#include "ipc/line_buffer.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace piorch::ipc;
using kind = line_buffer::kind;

namespace {

struct seen {
  kind what;
  std::string text;
  bool operator==(const seen& o) const { return what == o.what && text == o.text; }
};

std::vector<seen> plainly(const std::string& stream, std::size_t limit) {
  std::vector<seen> out;
  std::size_t at = 0;
  while (at < stream.size()) {
    const std::size_t lf = stream.find('\n', at);
    const bool whole = lf != std::string::npos;
    const std::string text = stream.substr(at, (whole ? lf : stream.size()) - at);
    if (text.size() > limit)
      out.push_back({kind::oversized, ""});
    else
      out.push_back({whole ? kind::complete : kind::partial, text});
    at = whole ? lf + 1 : stream.size();
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2)
    return 0;
  const std::size_t limit = bytes[0];
  const std::size_t piece = std::size_t{bytes[1]} + 1;
  const std::string stream(reinterpret_cast<const char*>(bytes + 2), size - 2);
  line_buffer in(limit);
  std::vector<seen> out;
  for (std::size_t at = 0; at < stream.size();) {
    const auto space = in.prepare(piece);
    PIORCH_REQUIRE(space.size >= 1);
    const std::size_t n = std::min({piece, space.size, stream.size() - at});
    std::memcpy(space.begin, stream.data() + at, n);
    in.commit(n);
    at += n;
    while (const auto line = in.next())
      out.push_back({line->what, std::string(line->text)});
  }
  if (const auto half = in.finish())
    out.push_back({half->what, std::string(half->text)});
  PIORCH_REQUIRE(out == plainly(stream, limit));
  return 0;
}
