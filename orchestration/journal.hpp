// The sessions on disk: makes their directories, finds the ones an orchestrator
// left behind when it died, lists what has ended and forgets the oldest. The
// directory may be shared by several orchestrators; a session belongs to the
// one that holds its lock. Not thread-safe: one owner.
#pragma once

#include "orchestration/event_log.hpp"
#include "orchestration/event_reader.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace piorch::orchestration {

// Bounds for ended sessions (settings: sessions.keepDays, sessions.keepCount).
struct retention {
  std::uint64_t sessions = 0;
  std::chrono::hours age{0};
};

class journal {
public:
  // `path` is …/piorch/sessions, absolute; missing parts are made, 0700.
  static result<journal> open(const std::string& path);

  // A new session's log with its first document.
  result<event_log> create(const session_document& d);

  // Ended sessions of everybody, and those nobody owns any more, oldest first.
  // Long texts are cut. Live sessions of other orchestrators are left out.
  std::vector<session_document> ended() const;

  // One session's document with its whole text; failure::unknown_session.
  result<session_document> read(const std::string& id) const;
  result<event_reader> follow(const std::string& id, std::uint64_t from) const;
  // The number of its newest event on disk; 0: there is none.
  result<std::uint64_t> last_seq(const std::string& id) const;
  result<std::string> stderr_tail(const std::string& id) const;

  // Sessions whose orchestrator is dead become failed, with the reason and all
  // text so far. Returns them. Also removes what a creation left unfinished.
  std::vector<session_document> recover(instant now);

  // Forgets ended sessions beyond the bounds; returns their ids.
  std::vector<std::string> prune(const retention& keep, instant now);

private:
  explicit journal(file root) : root_(std::move(root)) {}
  std::vector<std::string> names() const;
  result<session_document> read_summary(const std::string& id) const;
  result<session_document> recover_one(const std::string& id, session_document d, instant now);
  void remove(const std::string& name);

  file root_;
};

} // namespace piorch::orchestration
