// What is said about clients: their connections and commands, the approval desk, the
// keeper. See messages.hpp.
#pragma once

#include "actors/caf.hpp"
#include "config/result.hpp"
#include "ipc/jsonrpc.hpp"
#include "ipc/protocol.hpp"
#include "orchestration/approvals.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace piorch::actors {

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

// -- the orchestrator: the list of what runs ---------------------------------------

// Whoever starts a broker process -> sandbox_list, which watches its remote_broker.
struct sandbox_begun {
  caf::actor broker;
  ipc::command_entry about;
  std::function<std::int64_t()> pid;      // any thread
  std::function<std::string()> active_at; // any thread
};
// Command -> sandbox_list: it is there; what it was allowed and refused; it has ended.
struct command_begun {
  std::string id, own_id; // ours and its client's
  std::string command, cwd;
};
struct command_noted {
  std::string id;
  std::optional<ipc::network_entry> connection;
  std::optional<ipc::refused_path> refused;
};
struct command_over {
  std::string id;
};
// Sandbox_list -> itself, while somebody watches.
struct measure_due {};

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

} // namespace piorch::actors
