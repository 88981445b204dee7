#include "actors/followers.hpp"

#include <algorithm>

namespace piorch::actors {

void followers::add(const caf::actor& who, std::uint64_t from) {
  const auto i =
      all_.insert_or_assign(who.address(), follower{who, std::max<std::uint64_t>(from, 1)});
  feed(i.first->second);
}

void followers::remove(const caf::actor_addr& who) { all_.erase(who); }

void followers::publish(event_piece what) {
  ring_.push(what);
  for (auto& [who, f] : all_)
    if (f.next == what.first && f.has_room())
      send(f, what);
    else
      feed(f);
}

void followers::taken(const caf::actor_addr& who, std::size_t bytes) {
  const auto i = all_.find(who);
  if (i == all_.end())
    return;
  i->second.on_the_way -= std::min(i->second.on_the_way, bytes);
  feed(i->second);
}

std::vector<std::pair<caf::actor, std::uint64_t>> followers::leave() {
  std::vector<std::pair<caf::actor, std::uint64_t>> out;
  for (auto& [who, f] : std::exchange(all_, {}))
    if (f.next < ring_.next_seq())
      out.emplace_back(std::move(f.actor), f.next);
  return out;
}

void followers::feed(follower& f) {
  while (f.has_room() && f.next < ring_.next_seq())
    send(f, next_of(f));
}

event_piece followers::next_of(follower& f) {
  if (auto piece = ring_.at(f.next)) {
    f.reader.reset();
    return std::move(*piece);
  }
  if (!f.reader || f.reader->next_seq() != f.next) {
    f.reader.reset();
    if (auto r = services_.read_events(f.next))
      f.reader = std::make_unique<orchestration::event_reader>(std::move(*r));
  }
  if (f.reader)
    if (auto piece = read_piece(session_id_, *f.reader); !piece.empty())
      return piece;
  return gap_for(f.next); // could not be written: say so and go on with the ring
}

event_piece followers::gap_for(std::uint64_t from) const {
  const auto last = ring_.first_seq() - 1;
  event_block block(session_id_, from);
  block.add(last, services_.gap(from, last));
  return block.take();
}

void followers::send(follower& f, event_piece what) {
  f.on_the_way += what.lines.size();
  f.next = what.next;
  services_.send(f.actor, std::move(what));
}

} // namespace piorch::actors
