// The calls: params of every method, both directions. Most are a list of members;
// reading and writing follow from it.
#include "ipc/protocol.hpp"

#include "ipc/fields.hpp"

#include <array>
#include <tuple>

namespace piorch::ipc {

namespace {

using nlohmann::json;
using seconds_field = std::optional<std::chrono::milliseconds>;

// What a string has to be; other types say it themselves.
enum class rule { text, id, path, task };

template <class Owner, class Value> struct member {
  constexpr member(const char* n, Value Owner::*a, rule h = rule::text) : name(n), at(a), how(h) {}
  const char* name;
  Value Owner::*at;
  rule how;
};

std::string read_string(fields& in, const char* name, rule how) {
  if (how == rule::id)
    return in.id(name);
  if (how == rule::path)
    return in.path(name);
  auto text = in.text(name);
  if (how == rule::task && text.empty())
    in.fail(name, "a string that is not empty");
  return text;
}

// --- one member, by its type ---

void take(fields& in, const char* name, rule how, std::string& to) {
  to = read_string(in, name, how);
}
void take(fields& in, const char* name, rule how, std::optional<std::string>& to) {
  if (in.find(name))
    to = read_string(in, name, how);
}
void take(fields& in, const char* name, rule, bool& to) { to = in.flag(name); }
void take(fields& in, const char* name, rule, std::uint64_t& to) { to = in.count(name); }
void take(fields& in, const char* name, rule, std::optional<std::uint64_t>& to) {
  if (in.find(name))
    to = in.count(name);
}
void take(fields& in, const char* name, rule, seconds_field& to) { to = in.maybe_seconds(name); }
void take(fields& in, const char* name, rule, std::optional<std::vector<std::string>>& to) {
  to = in.maybe_texts(name);
}
void take(fields& in, const char* name, rule, std::optional<environment>& to) {
  to = in.maybe_environment(name);
}

void give(json& out, const char* name, const std::string& value) { out[name] = value; }
void give(json& out, const char* name, std::uint64_t value) { out[name] = value; }
void give(json& out, const char* name, bool value) {
  if (value)
    out[name] = true;
}
void give(json& out, const char* name, const seconds_field& value) {
  if (value)
    out[name] = static_cast<double>(value->count()) / 1000;
}
template <class T> void give(json& out, const char* name, const std::optional<T>& value) {
  put(out, name, value);
}

// --- the members of each call ---

constexpr std::tuple task_members{member{"task", &session_task::task, rule::task},
                                  member{"background", &session_task::background},
                                  member{"follow", &session_task::follow},
                                  member{"timeoutSeconds", &session_task::timeout}};
constexpr std::tuple worker_members{
    member{"model", &session_worker::model}, member{"tools", &session_worker::tools},
    member{"name", &session_worker::name}, member{"env", &session_worker::env}};

constexpr auto members_of(const command_cancel_params*) {
  return std::tuple{member{"id", &command_cancel_params::id, rule::id}};
}
constexpr auto members_of(const command_list_params*) {
  return std::tuple{member{"after", &command_list_params::after}};
}
constexpr auto members_of(const command_report_params*) {
  return std::tuple{member{"id", &command_report_params::id, rule::id}};
}
constexpr auto members_of(const session_start_params*) {
  return std::tuple_cat(task_members, worker_members,
                        std::tuple{member{"cwd", &session_start_params::cwd, rule::path}});
}
constexpr auto members_of(const session_follow_up_params*) {
  using p = session_follow_up_params;
  return std::tuple_cat(std::tuple{member{"sessionId", &p::session_id, rule::id}}, task_members);
}
constexpr auto members_of(const session_handoff_params*) {
  using p = session_handoff_params;
  return std::tuple_cat(
      std::tuple{member{"sessionId", &p::session_id, rule::id}, member{"cwd", &p::cwd, rule::path}},
      task_members, worker_members);
}
constexpr auto members_of(const session_wait_params*) {
  using p = session_wait_params;
  return std::tuple{member{"sessionId", &p::session_id, rule::id},
                    member{"timeoutSeconds", &p::timeout}};
}
constexpr auto members_of(const session_status_params*) {
  using p = session_status_params;
  return std::tuple{member{"sessionId", &p::session_id, rule::id}, member{"after", &p::after}};
}
constexpr auto members_of(const session_abort_params*) {
  return std::tuple{member{"sessionId", &session_abort_params::session_id, rule::id}};
}
constexpr auto members_of(const session_follow_params*) {
  using p = session_follow_params;
  return std::tuple{member{"sessionId", &p::session_id, rule::id}, member{"from", &p::from}};
}
constexpr auto members_of(const session_unfollow_params*) {
  return std::tuple{member{"sessionId", &session_unfollow_params::session_id, rule::id}};
}
constexpr auto members_of(const approval_list_params*) {
  return std::tuple{member{"after", &approval_list_params::after}};
}
constexpr auto members_of(const shutdown_params*) { return std::tuple{}; }

// --- those that are more than a list of members ---

template <class P> void read_members(fields& in, P& p) {
  std::apply([&](const auto&... m) { (take(in, m.name, m.how, p.*m.at), ...); },
             members_of(static_cast<P*>(nullptr)));
}
template <class P> json write_members(const P& p) {
  json out = json::object();
  std::apply([&](const auto&... m) { (give(out, m.name, p.*m.at), ...); },
             members_of(static_cast<const P*>(nullptr)));
  return out;
}

void read_members(fields& in, initialize_params& p) {
  const auto* version = in.need("protocolVersion", "1");
  if (version && *version != protocol_version)
    in.fail("protocolVersion", "1, the only version this server speaks");
  if (const auto* client = in.need("client", "an object with \"name\" and \"version\"")) {
    fields c(*client, "client.");
    p.client_name = c.text("name");
    p.client_version = c.text("version");
    in.absorb(c);
  }
  // What a newer client may offer besides is not an error, it just stays unused.
  if (const auto* capabilities = in.find("capabilities")) {
    fields c(*capabilities, "capabilities.");
    p.approvals = c.flag("approvals");
    in.absorb(c);
  }
}
json write_members(const initialize_params& p) {
  return {{"protocolVersion", p.version},
          {"client", {{"name", p.client_name}, {"version", p.client_version}}},
          {"capabilities", {{"approvals", p.approvals}}}};
}

void read_members(fields& in, command_run_params& p) {
  p.id = in.id("id");
  p.command = in.maybe_text("command");
  const auto argv = in.maybe_texts("argv");
  if (p.command.has_value() == argv.has_value())
    in.fail_with("exactly one of \"command\" (a string for the shell) and \"argv\" (an array of "
                 "strings) must be given");
  if (argv) {
    p.argv = *argv;
    if (argv->empty() || argv->front().empty())
      in.fail("argv", "an array that begins with the program");
  }
  p.cwd = in.path("cwd");
  p.env = in.maybe_environment("env");
  p.shell = in.maybe_path("shell");
  p.timeout = in.maybe_seconds("timeoutSeconds");
  if (const auto* input = in.find("stdin")) { // may hold NUL
    if (input->is_string())
      p.input = input->get<std::string>();
    else
      in.fail("stdin", "a string");
  }
}
json write_members(const command_run_params& p) {
  json out{{"id", p.id}, {"cwd", p.cwd}};
  put(out, "command", p.command);
  if (!p.command)
    out["argv"] = p.argv;
  put(out, "env", p.env);
  put(out, "shell", p.shell);
  give(out, "timeoutSeconds", p.timeout);
  put(out, "stdin", p.input);
  return out;
}

void read_members(fields& in, session_stop_params& p) {
  p.all = in.flag("all");
  if (in.find("sessionId"))
    p.session_id = in.id("sessionId");
  if (p.all == !p.session_id.empty())
    in.fail_with("exactly one of \"sessionId\" and \"all\": true must be given");
}
json write_members(const session_stop_params& p) {
  return p.all ? json{{"all", true}} : json{{"sessionId", p.session_id}};
}

void read_members(fields& in, approval_answer_params& p) {
  p.id = in.id("id");
  p.decision.allow = in.one_of("action", {"allow", "deny"}) == "allow";
  p.decision.source = in.maybe_text("source");
  p.decision.reason = in.maybe_text("reason");
}
json write_members(const approval_answer_params& p) {
  json out = write(p.decision);
  out["id"] = p.id;
  return out;
}

void read_members(fields& in, worker_supervise_params& p) {
  p.cwd = in.path("cwd");
  if (auto dirs = in.maybe_texts("worktreeDirs"))
    p.worktree_dirs = std::move(*dirs);
  for (const auto& dir : p.worktree_dirs)
    if (dir.empty() || dir.front() != '/')
      in.fail("worktreeDirs", "an array of absolute paths");
}
json write_members(const worker_supervise_params& p) {
  return {{"cwd", p.cwd}, {"worktreeDirs", p.worktree_dirs}};
}

// --- all of them ---

template <class P> result<rpc_call> read_as(const json& params) {
  fields in(params);
  P p;
  read_members(in, p);
  in.no_others();
  if (in.failed())
    return in.failure_of();
  return rpc_call(std::move(p));
}

struct method {
  const char* name;
  result<rpc_call> (*read)(const json& params);
};
template <class... Ps>
constexpr std::array<method, sizeof...(Ps)> methods_of(std::variant<Ps...>*) {
  return {method{Ps::method, read_as<Ps>}...};
}
constexpr auto methods = methods_of(static_cast<rpc_call*>(nullptr));

} // namespace

std::optional<result<rpc_call>> read_call(const std::string& name, const json& params) {
  for (const auto& m : methods)
    if (name == m.name)
      return m.read(params);
  return std::nullopt;
}

const char* method_name(const rpc_call& call) {
  return std::visit([](const auto& p) { return p.method; }, call);
}

json write_params(const rpc_call& call) {
  return std::visit([](const auto& p) { return write_members(p); }, call);
}

} // namespace piorch::ipc
