#include "actors/event_ring.hpp"

#include <algorithm>

namespace piorch::actors {

std::optional<event_piece> event_ring::at(std::uint64_t from) const {
  if (from >= next_)
    return event_piece{from, from, {}};
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), from,
                                      [](auto seq, const auto& b) { return seq < b.first; });
  if (after == blocks_.begin())
    return {};
  auto piece = *std::prev(after);
  // Who joins in the middle of a block gets the rest of it.
  std::size_t skipped = 0;
  for (; piece.first < from; ++piece.first)
    skipped = piece.lines.view().find('\n', skipped) + 1;
  piece.lines = piece.lines.without_first(skipped);
  return piece;
}

} // namespace piorch::actors
