// What is said about sessions: clients, supervisor, sessions, followers. See messages.hpp.
#pragma once

#include "actors/caf.hpp"
#include "ipc/protocol.hpp"
#include "ipc/shared_bytes.hpp"
#include "orchestration/session_document.hpp"
#include "orchestration/turns.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace piorch::actors {

// -- the orchestrator: the supervisor, for sessions -------------------------------
// Most requests are the protocol's own params (ipc/protocol.hpp); refusals come as
// refusal() (failures.hpp). The sender of a foreground start, follow-up, handoff or
// wait is the client actor: when it ends before it was answered, nobody waits.

// Client -> supervisor: events from params.from on go to `follower` as
// session_events, a window of limits::follower_window_bytes ahead of what it has
// reported with events_taken.
struct follow_session {
  ipc::session_follow_params params;
  caf::actor follower;
};
struct unfollow_session {
  std::string session_id;
  caf::actor follower;
};
// Session -> client: whole notification lines, made once for all followers.
struct session_events {
  std::string session_id;
  ipc::shared_bytes lines;
};
// Client -> session (the sender of the events): so many bytes have left.
struct events_taken {
  std::size_t bytes;
};
// Client or system -> supervisor: is there anything alive that keeps us here?
struct count_live {};
struct live_count {
  std::size_t sessions = 0;
};
// System -> supervisor: end every session, then answer (done).
struct stop_all {};

// -- the orchestrator: one session ------------------------------------------------

// Supervisor -> session, on behalf of a client: a task. Answered when the worker has
// taken it (background) or when it is settled; `ends_session`: then it ends, too.
struct run_task {
  ipc::session_task task; // with `follow` the client also follows, from this task on
  bool ends_session = false;
};
// Supervisor -> session, on behalf of a client: answered when nothing runs or waits.
struct wait_settled {
  std::optional<std::chrono::milliseconds> timeout;
};
// Supervisor -> session, on behalf of a client: answered when the run has ended, and
// when the whole process tree is gone.
struct abort_run {};
struct end_session {};
// Session -> supervisor: its newest document.
struct session_changed {
  std::shared_ptr<const orchestration::session_document> document;
};
// Session -> supervisor: the tree of that session lives as long as this actor.
struct session_broker {
  std::string session_id;
  caf::actor broker;
};
// Session -> itself, when the time for something is over.
struct task_overdue {
  orchestration::task_id task;
  std::uint64_t seconds;
};
struct wait_overdue {
  std::uint64_t number;
};
struct abort_overdue {
  std::uint64_t number;
};
struct start_overdue {};
// Supervisor -> session, after the last session_changed: nothing else will come.
struct retire_session {};
// Session -> supervisor, at its end: this follower still lacks events from here on.
struct replay_session {
  std::string session_id;
  std::uint64_t from;
  caf::actor follower;
};
struct flush_due {};

} // namespace piorch::actors
