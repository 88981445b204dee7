// Who follows one live session, and what each still lacks: a position, not a queue.
// New events go to everybody who has all before them as one shared block; who lags
// behind gets the next block from the ring, or older ones from the journal, when
// there is room in its window. A value of the session actor.
#pragma once

#include "actors/caf.hpp"
#include "actors/event_lines.hpp"
#include "config/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace piorch::actors {

class followers {
public:
  struct services {
    // The session's journal from an event on.
    std::function<result<orchestration::event_reader>(std::uint64_t from)> read_events;
    // In place of events that are nowhere any more: {"seq":…,"event":…} of a gap.
    std::function<std::string(std::uint64_t from, std::uint64_t to)> gap;
    std::function<void(const caf::actor& to, event_piece what)> send;
  };

  followers(std::string session_id, services s)
      : session_id_(std::move(session_id)), services_(std::move(s)) {}

  void add(const caf::actor& who, std::uint64_t from);
  void remove(const caf::actor_addr& who);
  bool has(const caf::actor_addr& who) const { return all_.count(who) != 0; }
  // New events, in order.
  void publish(event_piece what);
  // That follower is done with so many bytes.
  void taken(const caf::actor_addr& who, std::size_t bytes);

  std::uint64_t next_seq() const noexcept { return ring_.next_seq(); }
  // Those who still lack events, and from which on; nobody follows any more.
  std::vector<std::pair<caf::actor, std::uint64_t>> leave();

private:
  struct follower {
    caf::actor actor;
    std::uint64_t next;         // owed from here on
    std::size_t on_the_way = 0; // bytes
    std::unique_ptr<orchestration::event_reader> reader = {};

    bool has_room() const noexcept { return on_the_way < limits::follower_window_bytes; }
  };

  void feed(follower& f);
  event_piece next_of(follower& f);
  event_piece gap_for(std::uint64_t from) const;
  void send(follower& f, event_piece what);

  std::string session_id_;
  services services_;
  event_ring ring_;
  std::map<caf::actor_addr, follower> all_;
};

} // namespace piorch::actors
