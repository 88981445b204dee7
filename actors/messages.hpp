// Everything that actors say to each other. Commands are imperative
// (end_sandbox), facts are past (sandbox_started). A line each: who says it, and
// what follows. Nothing here crosses a process boundary, so plain structs do.
#pragma once

#include "actors/caf.hpp"
#include "ipc/channel_frame.hpp"
#include "ipc/jsonrpc.hpp"
#include "ipc/protocol.hpp"
#include "ipc/unique_fd.hpp"
#include "orchestration/approvals.hpp"
#include "orchestration/session_document.hpp"
#include "orchestration/turns.hpp"
#include "sandbox/init_protocol.hpp"
#include "sandbox/network/gateway.hpp"
#include "sandbox/run.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace piorch::actors {

// Descriptors travel in a shared_ptr: messages must be copyable.
using shared_fds = std::shared_ptr<std::vector<ipc::unique_fd>>;

// -- the broker process: Asio thread, sandbox actor, broker actor ----------------

// Asio thread -> sandbox: piorch-init said something.
struct init_said {
  sandbox::init::header what;
  std::string text;
  shared_fds fds;
};
// Asio thread -> sandbox: no process is left. Always the last word.
struct tree_gone {
  std::string diagnostics; // bubblewrap's own
};
// Broker -> sandbox: end it, first with SIGTERM, then for good.
struct end_sandbox {
  sandbox::end_reason why;
};
// Broker -> sandbox: deliver a signal to the command.
struct deliver_signal {
  int number;
};
// Broker -> sandbox: continue a stopped command.
struct resume_command {
  bool foreground;
};
// Broker -> sandbox: stop every process (answered by sandbox_held), or continue them.
struct hold_tree {
  bool hold;
};
// Sandbox -> itself, after run::grace and after the command's time limit.
struct grace_over {};
struct time_limit_reached {};

// Sandbox -> broker: the command runs.
struct sandbox_started {
  std::uint64_t monotonic_us;
};
// Sandbox -> broker: the listening sockets of the sandbox's network namespace.
struct sandbox_listening {
  shared_fds fds;
};
// Sandbox -> broker: the command was stopped by terminal job control.
struct sandbox_stopped {
  int signal;
};
// Sandbox -> broker: the answer to hold_tree{true}; whether really everything stopped.
struct sandbox_held {
  bool everything;
};
// Sandbox -> broker: a path was refused to the command.
struct path_refused {
  std::string path;
  std::string rule;
};
// Sandbox -> broker: nothing is alive any more; clean up.
struct sandbox_ended {
  sandbox::outcome how;
};

// -- the orchestrator: a remote_broker per broker process, its owner (a command or
//    a session) and the Asio thread ------------------------------------------------

// Owner -> remote_broker: bytes for the command's standard input, in order; and
// its end.
struct send_input {
  std::string bytes;
};
struct close_input {};
// Owner -> remote_broker: so many bytes of broker_output are done with. Without it
// the broker stops reading from the command (limits::channel_window_bytes).
struct grant_output {
  std::size_t bytes;
};
// Owner -> remote_broker: end the process tree; broker_ended follows.
struct stop_broker {};
// Desk -> whoever asked: the answer. `id` is the asker's own.
struct answer_approval {
  std::string id;
  ipc::approval_decision decision;
};

// remote_broker -> owner: the command has been executed.
struct broker_started {};
// remote_broker -> owner: output of the command; to be granted again.
struct broker_output {
  bool is_stderr;
  std::string bytes;
};
// remote_broker -> owner: network_event, refused_file, approval_ask, approval_cancel.
struct broker_event {
  ipc::frame_type what;
  std::string json;
};
// remote_broker -> owner: nothing of it is alive any more and nothing is left.
// Always the last word. `problem`: it could not be run, or the broker was lost.
struct broker_ended {
  sandbox::outcome how;
  std::vector<ipc::network_entry> network;
  std::chrono::milliseconds duration{0};
  std::optional<error> problem;
};

// Asio thread -> remote_broker.
struct broker_frame {
  ipc::frame_type what;
  std::string payload;
};
struct broker_gone { // the channel has ended and the process is reaped
  std::string why;
};
// remote_broker -> itself: the broker had its time to end by itself.
struct broker_overdue {};

// -- the orchestrator: clients --------------------------------------------------

// Asio thread -> client.
struct client_asked {
  ipc::rpc_id id; // not present: a notification, which is not answered
  ipc::rpc_call call;
};
struct client_answered { // an answer to a request of ours
  ipc::rpc_message answer;
};
struct client_written {
  std::size_t bytes;
};
struct client_gone {};

// Command -> client: output for the client; granted when it has left for it.
struct command_chunk {
  std::string id;
  bool is_stderr;
  std::string bytes;
};
// Client or keeper -> command: end it; command_done follows.
struct cancel_command {};
// Command -> client, its last word.
struct command_done {
  std::string id;
  ipc::command_run_result how;
  std::optional<error> problem; // it was not run, or nobody knows how it ended
};

// -- the orchestrator: the approval desk and what it keeps ------------------------

// Client -> desk: it may be asked, until it is down.
struct join_approvers {
  caf::actor client;
};
// Owner of a broker -> desk, on behalf of `asker` (an approval_asker_handle), which
// gets answer_approval unless it withdraws the question or is down.
struct approval_wanted {
  std::string asker_id;
  orchestration::approval_question question;
  std::chrono::milliseconds time_limit;
  caf::actor owner; // the client that is to answer; none: any
  caf::actor asker;
};
struct approval_unwanted {
  std::string asker_id;
  caf::actor asker;
};
// Client -> desk: the first answer counts (done), later ones are refused.
struct answer_pending {
  std::string id;
  ipc::approval_decision decision;
  caf::actor by; // the client
};
// Desk -> client: ask the person; and: do not ask any more.
struct approval_shown {
  ipc::approval_request request;
};
struct approval_over {
  std::string id;
};

// -- the orchestrator: the keeper, which knows whether anybody needs us ------------

// Connection -> keeper: a client, a command, to be watched until it is down.
struct watch_client {
  caf::actor client;
  bool is_private = false; // its end is the end of this orchestrator
};
struct watch_command {
  caf::actor command;
};
// Client (shutdown) -> keeper: end every command and session, then answer.
struct end_everything {};
// System (a signal) -> keeper: the same, then the process ends.
struct end_and_leave {};
// Keeper -> client, when the process ends: nothing more will come.
struct close_client {};
// Client -> keeper: the answer to its shutdown is on its way; the process may end.
struct leave {};
// Keeper -> itself.
struct idle_over {
  std::uint64_t since; // number of the change after which nothing happened
};

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
// Session -> client: whole notification lines (ipc::session_event_line), made once
// for all followers.
struct session_events {
  std::string session_id;
  std::shared_ptr<const std::vector<std::string>> lines;
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

// -- network approvals: Asio thread, proxy actor, one approval actor per question --

// Asio thread -> proxy: a connection that no rule decides; approval_settled comes
// back through proxy_port.
struct connect_asked {
  sandbox::network::ask_request request;
};
// Asio thread -> proxy: that connection is gone; nothing follows.
struct connect_gone {
  std::uint64_t id;
};
// Whoever was shown the question (terminal, orchestrator) -> proxy: an answer. The
// first one counts.
struct connect_answered {
  std::uint64_t id;
  bool allow;
  std::string source; // "terminal", "client" ...
  std::string reason;
};
// Proxy -> approval: an answer; the question no longer matters.
struct approval_answered {
  bool allow;
  std::string source;
  std::string reason;
};
struct approval_withdrawn {};
// Approval -> itself, when nobody answered in time.
struct approval_expired {};
// Approval -> proxy: the outcome, exactly one; the last word of the approval.
struct approval_settled {
  std::uint64_t id;
  bool withdrawn;
  sandbox::network::ask_answer answer;
};
// -- the orchestrator: one session ------------------------------------------------

// Supervisor -> session, on behalf of a client: a task. Answered when the worker has
// taken it (background) or when it is settled; `ends_session`: then it ends, too.
struct run_task {
  std::string text;
  std::optional<std::chrono::milliseconds> timeout;
  bool background = false;
  bool ends_session = false;
  bool follow = false; // the client also follows, from this task on
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

CAF_BEGIN_TYPE_ID_BLOCK(piorch, caf::first_custom_type_id)
// the broker process
CAF_ADD_TYPE_ID(piorch, (piorch::actors::init_said))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::tree_gone))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::end_sandbox))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::deliver_signal))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::resume_command))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::hold_tree))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::grace_over))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::time_limit_reached))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_started))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_listening))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_stopped))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_held))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::path_refused))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::sandbox_ended))
// network approvals
CAF_ADD_TYPE_ID(piorch, (piorch::actors::connect_asked))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::connect_gone))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::connect_answered))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_answered))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_withdrawn))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_expired))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_settled))
// the orchestrator: brokers, clients, supervisor
CAF_ADD_TYPE_ID(piorch, (piorch::actors::send_input))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::close_input))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::grant_output))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::stop_broker))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::answer_approval))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_started))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_output))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_event))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_ended))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_frame))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_gone))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::broker_overdue))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::client_asked))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::client_answered))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::client_written))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::client_gone))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::command_chunk))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::cancel_command))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::command_done))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::watch_client))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::watch_command))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::end_everything))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::close_client))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::end_and_leave))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::leave))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::idle_over))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::follow_session))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::unfollow_session))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::session_events))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::events_taken))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::count_live))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::live_count))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::stop_all))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_start_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_follow_up_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_handoff_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_wait_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_status_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_abort_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_stop_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_answer))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_status_result))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::session_follow_result))
CAF_ADD_TYPE_ID(piorch, (piorch::done))
// the orchestrator: approvals
CAF_ADD_TYPE_ID(piorch, (piorch::actors::join_approvers))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_wanted))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_unwanted))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::answer_pending))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_shown))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::approval_over))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::approval_list_params))
CAF_ADD_TYPE_ID(piorch, (piorch::ipc::approval_list_result))
// the orchestrator: one session
CAF_ADD_TYPE_ID(piorch, (piorch::actors::run_task))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::wait_settled))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::abort_run))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::end_session))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::session_changed))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::session_broker))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::task_overdue))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::wait_overdue))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::abort_overdue))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::start_overdue))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::retire_session))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::replay_session))
CAF_ADD_TYPE_ID(piorch, (piorch::actors::flush_due))
CAF_END_TYPE_ID_BLOCK(piorch)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::init_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::tree_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::end_sandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::deliver_signal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::resume_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::hold_tree)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::grace_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::time_limit_reached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_listening)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_stopped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_held)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::path_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::sandbox_ended)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::send_input)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::close_input)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::grant_output)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::stop_broker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::answer_approval)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_output)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_frame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::broker_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::client_asked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::client_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::client_written)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::client_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::command_chunk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::cancel_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::command_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::watch_client)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::watch_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::end_everything)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::close_client)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::end_and_leave)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::leave)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::idle_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::follow_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::unfollow_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::session_events)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::events_taken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::count_live)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::live_count)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::stop_all)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_start_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_follow_up_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_handoff_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_wait_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_status_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_abort_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_stop_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_status_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::session_follow_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::done)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::connect_asked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::connect_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::connect_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_withdrawn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_expired)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_settled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::run_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::wait_settled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::abort_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::end_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::session_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::session_broker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::task_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::wait_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::abort_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::start_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::retire_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::replay_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::flush_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::join_approvers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_wanted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_unwanted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::answer_pending)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_shown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::actors::approval_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::approval_list_params)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::ipc::approval_list_result)
