// One subagent session: the state machine between its worker's bytes and those
// who wait for it. Takes events and the time, returns effects; no process, no
// clock, no file. Not thread-safe: one owner (its actor).
#pragma once

#include "config/limits.hpp"
#include "orchestration/providers.hpp"
#include "orchestration/session_document.hpp"
#include "orchestration/turns.hpp"
#include "orchestration/worker_lines.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace piorch::orchestration {

// What a session is made from. Set by the supervisor.
struct session_spec {
  std::string id;
  std::string name;
  std::string parent_id;
  unsigned depth = 1;
  std::string cwd;
  std::string model;                        // as asked for; empty: the worker's default
  std::vector<provider_endpoint> providers; // to explain connection errors
  std::string start_hint; // why a worker might not start here; empty: nothing is known
};

// What is known of a session before it does anything.
session_document first_document(const session_spec& spec, instant now);

// An event for the journal and the followers: JSON, see docs/protocol.md.
struct session_event {
  instant time;
  std::string json;
};

// What the owner has to do, in this order.
struct session_effects {
  std::vector<session_event> events;  // append to the journal, then tell followers
  bool document_changed = false;      // keep the document again
  std::vector<std::string> to_worker; // write to its stdin
  std::vector<task_id> accepted;      // the worker has taken these tasks
  std::vector<answer> answers;        // tell those who wait
  bool end_worker = false;            // end its process tree; worker_gone() follows
  std::uint64_t abort_grace = 0; // not 0: call abort_overdue() with it after limits::abort_grace
  bool arm_flush = false;        // call flush() after limits::delta_event_delay
  bool ended = false;            // nothing happens any more
};

// How the process tree ended, as its broker reports.
struct worker_end {
  worker_exit exit;
  double cpu_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::string lost; // not empty: the broker or the sandbox failed, and why
};

class session {
public:
  session(session_spec spec, instant now);

  // The first events of the journal; call once.
  session_effects begin(instant now);

  // A task for the worker; failure::session_stopped or session_failed when the
  // session is not live (or no longer shall be).
  result<session_effects> submit(task_id task, std::string text, instant now);

  session_effects worker_up(instant now); // its process runs: ask whether it is ready
  session_effects worker_output(std::string_view bytes, instant now);
  void worker_errors(std::string_view bytes); // stderr; only its tail is kept
  session_effects worker_gone(const worker_end& end, instant now);

  // Stops the current run and forgets the waiting tasks; the session stays.
  session_effects abort(instant now);
  // The time of one task is over (`seconds` for the sentence).
  session_effects expire(task_id task, std::uint64_t seconds, instant now);
  // A network entry of its sandbox, as JSON: an event, and the reason when the model
  // cannot be reached.
  session_effects network(const std::string& entry_json, instant now);
  // Something else that happened to the session, as an event.
  session_effects note(std::string event_json, instant now);
  // One task is not wanted any more.
  session_effects cancel(task_id task, instant now);
  // Ends the session; the state changes when the tree is gone.
  session_effects stop(instant now);
  // Ends it as failed with this reason, for example after a start that hangs.
  session_effects fail(error why, instant now);

  session_effects abort_overdue(std::uint64_t number, instant now);
  session_effects start_overdue(instant now);
  // Streamed text that was gathered becomes an event.
  session_effects flush(instant now);

  const session_document& document() const noexcept { return document_; }
  const std::string& stderr_tail() const noexcept { return stderr_tail_; }
  bool settled() const noexcept { return !turns_.busy(); }
  bool ending() const noexcept { return ending_; }

private:
  void on_line(std::string_view line, session_effects& out, instant now);
  void apply(turn_effects&& t, session_effects& out, instant now);
  void flush_delta(session_effects& out, instant now);
  void apply_failure(error why, session_effects& out, instant now);
  void set_state(session_state s, session_effects& out, instant now);
  void update_state(session_effects& out, instant now);
  error not_live() const;
  error worker_lost(const worker_end& end) const;

  session_document document_;
  std::vector<provider_endpoint> providers_;
  std::string start_hint_;
  provider_endpoint denied_; // the newest since the model was asked
  turns turns_;
  worker_lines lines_{limits::worker_line_bytes};
  bool worker_ready_ = false;
  bool ending_ = false;   // the tree shall end or is gone
  bool stopping_ = false; // because somebody asked for it
  std::string failure_;   // why it failed, when it is not the worker's own end
  std::string stderr_tail_;
  std::string delta_;   // streamed text that no event holds yet
  std::string partial_; // all streamed text of the message that is being written
};

} // namespace piorch::orchestration
