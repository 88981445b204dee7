// What is kept on disk of one live session, below sessions/ID/:
//   events.jsonl, events.old.jsonl  {"seq":N,"time":"…","event":{…}} per line
//   session.json                    the document, long texts cut
//   result.json                     {"text":…,"error":…}, whole
//   stderr                          the tail of the worker's stderr
//   lock                            held while an orchestrator owns the session
// Bounded: of the events the older half is dropped when the bound is reached.
// A failed write is an error and leaves a gap marker as soon as one succeeds
// again. Not thread-safe: one owner. What is written survives the death of any
// process; a power failure may cost the last seconds.
#pragma once

#include "config/limits.hpp"
#include "orchestration/file.hpp"
#include "orchestration/session_document.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace piorch::orchestration {

// One event as it was given out: immutable, shared by all followers.
struct logged_event {
  std::uint64_t seq = 0;
  std::string json; // {"seq":N,"time":"…","event":{…}}
};
using event_ptr = std::shared_ptr<const logged_event>;

// The json of a logged event.
std::string numbered_event(std::uint64_t seq, instant time, std::string_view event_json);

namespace journal_files {
inline constexpr const char* events = "events.jsonl";
inline constexpr const char* older_events = "events.old.jsonl";
inline constexpr const char* document = "session.json";
inline constexpr const char* result = "result.json";
inline constexpr const char* stderr_tail = "stderr";
inline constexpr const char* lock = "lock";
inline constexpr const char* reserve = "reserve";
} // namespace journal_files

class event_log {
public:
  // Opens the log in `directory`; takes its lock. `next_seq` is 1 for a new one.
  static result<event_log> open(file directory, std::uint64_t next_seq = 1,
                                std::size_t limit_bytes = limits::journal_bytes);

  // Numbers an event and keeps it. The event exists even when it could not be
  // kept: then `failed` says why, once for a row of failures.
  struct appended {
    event_ptr event;
    std::string failed;
  };
  appended append(instant time, std::string_view event_json);

  // Replaces session.json, and result.json when text or error have changed.
  result<done> keep(const session_document& d);
  result<done> keep_stderr(std::string_view tail);

  // Nothing more will come: says what could not be written, lets go of the lock and of
  // what was held in reserve.
  void close(instant now);

  std::uint64_t next_seq() const noexcept { return next_seq_; }
  int directory() const noexcept { return directory_.fd(); }

private:
  event_log() = default;
  result<done> write_line(const std::string& line);
  result<done> rotate();
  bool use_reserve();
  static std::string gap_line(std::uint64_t from, std::uint64_t to, instant time);

  file directory_;
  file lock_;
  file events_;
  std::uint64_t events_bytes_ = 0;
  std::uint64_t next_seq_ = 1;
  std::uint64_t lost_from_ = 0; // first event that is not on disk; 0: none
  std::size_t limit_bytes_ = 0;
  std::string kept_result_;
};

} // namespace piorch::orchestration
