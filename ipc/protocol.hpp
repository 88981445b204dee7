// Every method of the protocol: its name, its params and its result. The only
// place where field names are spelled; docs/protocol.md is its prose.
//
// Reading is strict: a missing, ill-typed or unknown field is a failure::usage
// (-32602) that names the field and what is accepted. Writing and reading are
// each other's inverse, so client and server share these structs.
#pragma once

#include "config/result.hpp"
#include "config/version.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace piorch::ipc {

using environment = std::map<std::string, std::string>;

// --- initialize ---------------------------------------------------------------
struct initialize_params {
  static constexpr const char* method = "initialize";
  int version = protocol_version;
  std::string client_name;
  std::string client_version;
  bool approvals = false; // wants approval.request
};
struct initialize_result {
  std::string server_version;
  std::int64_t pid = 0;
  std::string platform; // "linux", "macos"
  bool available = false;
  std::string reason; // why no sandbox can be made
};

// --- command.run, command.cancel ----------------------------------------------
struct command_run_params {
  static constexpr const char* method = "command.run";
  std::string id;                     // chosen by the client, unique among its live commands
  std::optional<std::string> command; // for the shell; else argv
  std::vector<std::string> argv;
  std::string cwd; // absolute
  std::optional<environment> env;
  std::optional<std::string> shell; // absolute
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::string> input; // "stdin"; without it the command reads /dev/null
};
struct network_entry {
  std::string host;
  std::uint16_t port = 0;
  std::string decision; // "allow", "deny"
  std::string source;   // which rule or whose answer
};
// A name that the sandbox could not make, change or open for writing.
struct refused_path {
  std::string path;
  std::string rule;
};
struct command_run_result {
  std::optional<int> exit_code; // null when a signal ended it
  std::optional<int> signal;
  bool timed_out = false;
  bool cancelled = false;
  bool ran_on_host = false;
  std::chrono::milliseconds duration{0};
  std::vector<network_entry> network;
  std::vector<refused_path> refused_paths; // the first of them
};
struct command_cancel_params {
  static constexpr const char* method = "command.cancel";
  std::string id;
};
// What runs now: commands of every client, and the workers of sessions.
struct command_list_params {
  static constexpr const char* method = "command.list";
  std::optional<std::uint64_t> after; // answered as soon as the revision is another one
};
struct command_entry {
  std::int64_t pid = 0;                  // of its broker; 0: it is being started
  std::optional<std::string> id;         // of a command, for command.report
  std::optional<std::string> session_id; // of a worker
  std::string command;                   // long ones are cut
  std::string cwd;
  bool on_host = false;
  std::string started_at;
  std::string active_at; // its output was taken
  double cpu_seconds = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t processes = 0;
};
struct command_list_result {
  std::vector<command_entry> commands;
  std::uint64_t revision = 0; // changes with every change of the list, and of its figures
};
// What a command was refused, also for a while after it has ended.
struct command_report_params {
  static constexpr const char* method = "command.report";
  std::string id; // from the list, or the client's own: then the youngest of that id
};
struct command_report_result {
  std::string id;
  std::string command; // long ones are cut
  std::string cwd;
  std::string started_at;
  std::optional<std::string> ended_at;
  std::vector<network_entry> network;
  std::vector<refused_path> refused_paths;
  std::uint64_t left_out = 0; // further ones that are in neither list
};

// --- sessions -------------------------------------------------------------------
// What start, followUp and handoff have in common: a task of a session.
struct session_task {
  std::string task; // not empty
  bool background = false;
  bool follow = false;                              // also send the session's events
  std::optional<std::chrono::milliseconds> timeout; // of the run
};
// What start and handoff have in common: the worker of a new session.
struct session_worker {
  std::optional<std::string> model;
  std::optional<std::vector<std::string>> tools;
  std::optional<std::string> name;
  std::optional<environment> env;
};
struct session_start_params : session_task, session_worker {
  static constexpr const char* method = "session.start";
  std::string cwd; // absolute
};
struct session_follow_up_params : session_task {
  static constexpr const char* method = "session.followUp";
  std::string session_id;
};
struct session_handoff_params : session_task, session_worker {
  static constexpr const char* method = "session.handoff";
  std::string session_id;         // the parent
  std::optional<std::string> cwd; // absolute; else the parent's
};
struct session_wait_params {
  static constexpr const char* method = "session.wait";
  std::string session_id;
  std::optional<std::chrono::milliseconds> timeout;
};
struct session_status_params {
  static constexpr const char* method = "session.status";
  std::optional<std::string> session_id = {}; // else all
  // Answered as soon as something has changed after this revision, with what has changed.
  std::optional<std::uint64_t> after = {};
};
struct session_abort_params {
  static constexpr const char* method = "session.abort";
  std::string session_id;
};
struct session_stop_params {
  static constexpr const char* method = "session.stop";
  std::string session_id; // empty: all
  bool all = false;
};
struct session_follow_params {
  static constexpr const char* method = "session.follow";
  std::string session_id;
  std::uint64_t from = 0; // the first event wanted
};
struct session_unfollow_params {
  static constexpr const char* method = "session.unfollow";
  std::string session_id;
};
// Of start, followUp, handoff, wait. `session` is the document of contract section
// 4 as JSON text: this room carries it and does not look inside.
struct session_answer {
  std::string session;
  std::optional<std::string> text; // nothing: started in the background
};
struct session_status_result {
  std::vector<std::string> sessions; // documents as JSON text
  std::uint64_t revision = 0;        // changes with every change of a session
  bool all = false;                  // these are all there are
};
struct session_follow_result {
  std::uint64_t next = 0; // the number the next new event will have
};

// --- approvals -------------------------------------------------------------------
// Server -> client, and the entries of approval.list.
struct approval_request {
  std::string id;
  std::string surface;   // "network", "host-ipc"
  std::string operation; // "connect", "execute-host"
  std::optional<std::string> destination;
  std::string command;
  std::string cwd;
  std::optional<std::string> session_id;
  std::optional<std::string> agent_name;
  std::optional<std::string> matched_policy;
  std::optional<std::string> warning;
  std::string expires_at;
};
struct approval_decision {
  bool allow = false;
  std::optional<std::string> source;
  std::optional<std::string> reason;
};
struct approval_cancelled {
  std::string id;
};
struct approval_list_params {
  static constexpr const char* method = "approval.list";
  std::optional<std::uint64_t> after; // answered as soon as the revision is another one
};
struct approval_list_result {
  std::vector<approval_request> approvals;
  std::uint64_t revision = 0; // changes with every change of the list
};
struct approval_answer_params {
  static constexpr const char* method = "approval.answer";
  std::string id;
  approval_decision decision;
};

// --- workers of pi-subagents --------------------------------------------------------
// From here on the workers of that Pi session sign in at the socket, with the capability;
// what was opened for this client before is over. Ends with the client.
struct worker_supervise_params {
  static constexpr const char* method = "worker.supervise";
  std::string cwd;                        // absolute: where they may run
  std::vector<std::string> worktree_dirs; // absolute: where pi-subagents makes worktrees
};
struct worker_supervise_result {
  std::string socket; // path
  std::string capability;
};
// Server -> client: a worker has come, or has ended.
struct worker_changed {
  std::string id;
  std::string cwd;
  std::string agent;
  std::string run;
  std::optional<std::string> parent; // the worker in whose sandbox it runs
  std::int64_t pid = 0;
  std::string state; // "running", "completed", "failed", "stopped"
  std::string started_at;
  std::optional<std::string> ended_at;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::string> reason;
  std::uint64_t number = 0; // how many have come so far
};

struct shutdown_params {
  static constexpr const char* method = "shutdown";
};

// --- what a client may ask, as one value ------------------------------------------
using rpc_call = std::variant<initialize_params, command_run_params, command_cancel_params,
                              command_list_params, command_report_params, session_start_params,
                              session_follow_up_params, session_handoff_params, session_wait_params,
                              session_status_params, session_abort_params, session_stop_params,
                              session_follow_params, session_unfollow_params, approval_list_params,
                              approval_answer_params, worker_supervise_params, shutdown_params>;

// Nothing: no such method.
std::optional<result<rpc_call>> read_call(const std::string& method, const nlohmann::json& params);
const char* method_name(const rpc_call& call);
nlohmann::json write_params(const rpc_call& call);

inline constexpr const char* command_output_method = "command.output";
inline constexpr const char* session_event_method = "session.event";
inline constexpr const char* approval_request_method = "approval.request";
inline constexpr const char* approval_cancelled_method = "approval.cancelled";
inline constexpr const char* worker_changed_method = "worker.changed";

// --- results and server messages ----------------------------------------------------
nlohmann::json write(const initialize_result&);
nlohmann::json write(const command_run_result&);
nlohmann::json write(const command_list_result&);
nlohmann::json write(const command_report_result&);
nlohmann::json write(const session_follow_result&);
nlohmann::json write(const approval_request&);
nlohmann::json write(const approval_decision&);
nlohmann::json write(const approval_cancelled&);
nlohmann::json write(const approval_list_result&);
nlohmann::json write(const worker_supervise_result&);
nlohmann::json write(const worker_changed&);

// read<T>(json): for the types above and command.output's and session.event's params.
struct command_output {
  std::string id;
  bool is_stderr = false;
  std::string bytes; // decoded
};
template <class T> result<T> read(const nlohmann::json& value);

// Results as JSON text, for rpc_result_line(): documents are not parsed again.
std::string write_text(const session_answer&);
std::string write_text(const session_status_result&);

// The whole notification line (no LF), built without a document in between.
std::string command_output_line(const std::string& id, bool is_stderr, std::string_view bytes);
} // namespace piorch::ipc
