// The calls: params of every method, both directions.
#include "ipc/protocol.hpp"

#include "ipc/fields.hpp"

#include <algorithm>

namespace piorch::ipc {

namespace {

using nlohmann::json;

template <class T> result<rpc_call> finish(fields& in, T&& call) {
  in.no_others();
  if (in.failed())
    return in.failure_of();
  return rpc_call(std::forward<T>(call));
}

template <class T> void put(json& out, const char* name, const std::optional<T>& value) {
  if (value)
    out[name] = *value;
}
void put_seconds(json& out, const std::optional<std::chrono::milliseconds>& value) {
  if (value)
    out["timeoutSeconds"] = static_cast<double>(value->count()) / 1000;
}

std::string need_task(fields& in) {
  std::string task = in.text("task");
  if (task.empty())
    in.fail("task", "a string that is not empty");
  return task;
}

// --- initialize ---
result<rpc_call> read_initialize(const json& params) {
  fields in(params);
  initialize_params p;
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
  return finish(in, std::move(p));
}
json write_call(const initialize_params& p) {
  return {{"protocolVersion", p.version},
          {"client", {{"name", p.client_name}, {"version", p.client_version}}},
          {"capabilities", {{"approvals", p.approvals}}}};
}

// --- command ---
result<rpc_call> read_command_run(const json& params) {
  fields in(params);
  command_run_params p;
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
  return finish(in, std::move(p));
}
json write_call(const command_run_params& p) {
  json out{{"id", p.id}, {"cwd", p.cwd}};
  put(out, "command", p.command);
  if (!p.command)
    out["argv"] = p.argv;
  put(out, "env", p.env);
  put(out, "shell", p.shell);
  put_seconds(out, p.timeout);
  put(out, "stdin", p.input);
  return out;
}

result<rpc_call> read_command_cancel(const json& params) {
  fields in(params);
  command_cancel_params p{in.id("id")};
  return finish(in, std::move(p));
}
json write_call(const command_cancel_params& p) { return {{"id", p.id}}; }

// --- session ---
result<rpc_call> read_session_start(const json& params) {
  fields in(params);
  session_start_params p;
  p.task = need_task(in);
  p.cwd = in.path("cwd");
  p.model = in.maybe_text("model");
  p.tools = in.maybe_texts("tools");
  p.name = in.maybe_text("name");
  p.background = in.flag("background");
  p.follow = in.flag("follow");
  p.env = in.maybe_environment("env");
  p.timeout = in.maybe_seconds("timeoutSeconds");
  return finish(in, std::move(p));
}
json write_call(const session_start_params& p) {
  json out{{"task", p.task}, {"cwd", p.cwd}, {"background", p.background}};
  if (p.follow)
    out["follow"] = true;
  put(out, "model", p.model);
  put(out, "tools", p.tools);
  put(out, "name", p.name);
  put(out, "env", p.env);
  put_seconds(out, p.timeout);
  return out;
}

result<rpc_call> read_session_follow_up(const json& params) {
  fields in(params);
  session_follow_up_params p;
  p.session_id = in.id("sessionId");
  p.task = need_task(in);
  p.background = in.flag("background");
  p.follow = in.flag("follow");
  p.timeout = in.maybe_seconds("timeoutSeconds");
  return finish(in, std::move(p));
}
json write_call(const session_follow_up_params& p) {
  json out{{"sessionId", p.session_id}, {"task", p.task}, {"background", p.background}};
  if (p.follow)
    out["follow"] = true;
  put_seconds(out, p.timeout);
  return out;
}

result<rpc_call> read_session_handoff(const json& params) {
  fields in(params);
  session_handoff_params p;
  p.session_id = in.id("sessionId");
  p.task = need_task(in);
  p.cwd = in.maybe_path("cwd");
  p.model = in.maybe_text("model");
  p.tools = in.maybe_texts("tools");
  p.name = in.maybe_text("name");
  p.background = in.flag("background");
  p.follow = in.flag("follow");
  p.env = in.maybe_environment("env");
  p.timeout = in.maybe_seconds("timeoutSeconds");
  return finish(in, std::move(p));
}
json write_call(const session_handoff_params& p) {
  json out{{"sessionId", p.session_id}, {"task", p.task}, {"background", p.background}};
  if (p.follow)
    out["follow"] = true;
  put(out, "cwd", p.cwd);
  put(out, "model", p.model);
  put(out, "tools", p.tools);
  put(out, "name", p.name);
  put(out, "env", p.env);
  put_seconds(out, p.timeout);
  return out;
}

result<rpc_call> read_session_wait(const json& params) {
  fields in(params);
  session_wait_params p;
  p.session_id = in.id("sessionId");
  p.timeout = in.maybe_seconds("timeoutSeconds");
  return finish(in, std::move(p));
}
json write_call(const session_wait_params& p) {
  json out{{"sessionId", p.session_id}};
  put_seconds(out, p.timeout);
  return out;
}

result<rpc_call> read_session_status(const json& params) {
  fields in(params);
  session_status_params p;
  if (in.find("sessionId"))
    p.session_id = in.id("sessionId");
  return finish(in, std::move(p));
}
json write_call(const session_status_params& p) {
  json out = json::object();
  put(out, "sessionId", p.session_id);
  return out;
}

result<rpc_call> read_session_abort(const json& params) {
  fields in(params);
  session_abort_params p{in.id("sessionId")};
  return finish(in, std::move(p));
}
json write_call(const session_abort_params& p) { return {{"sessionId", p.session_id}}; }

result<rpc_call> read_session_stop(const json& params) {
  fields in(params);
  session_stop_params p;
  p.all = in.flag("all");
  if (in.find("sessionId"))
    p.session_id = in.id("sessionId");
  if (p.all == !p.session_id.empty())
    in.fail_with("exactly one of \"sessionId\" and \"all\": true must be given");
  return finish(in, std::move(p));
}
json write_call(const session_stop_params& p) {
  return p.all ? json{{"all", true}} : json{{"sessionId", p.session_id}};
}

result<rpc_call> read_session_follow(const json& params) {
  fields in(params);
  session_follow_params p;
  p.session_id = in.id("sessionId");
  p.from = in.count("from");
  return finish(in, std::move(p));
}
json write_call(const session_follow_params& p) {
  return {{"sessionId", p.session_id}, {"from", p.from}};
}

result<rpc_call> read_session_unfollow(const json& params) {
  fields in(params);
  session_unfollow_params p{in.id("sessionId")};
  return finish(in, std::move(p));
}
json write_call(const session_unfollow_params& p) { return {{"sessionId", p.session_id}}; }

// --- approvals, shutdown ---
result<rpc_call> read_approval_list(const json& params) {
  fields in(params);
  approval_list_params p;
  if (in.find("after"))
    p.after = in.count("after");
  return finish(in, p);
}
json write_call(const approval_list_params& p) {
  json out = json::object();
  put(out, "after", p.after);
  return out;
}

result<rpc_call> read_approval_answer(const json& params) {
  fields in(params);
  approval_answer_params p;
  p.id = in.id("id");
  p.decision.allow = in.one_of("action", {"allow", "deny"}) == "allow";
  p.decision.source = in.maybe_text("source");
  p.decision.reason = in.maybe_text("reason");
  return finish(in, std::move(p));
}
json write_call(const approval_answer_params& p) {
  json out = write(p.decision);
  out["id"] = p.id;
  return out;
}

result<rpc_call> read_shutdown(const json& params) {
  fields in(params);
  return finish(in, shutdown_params{});
}
json write_call(const shutdown_params&) { return json::object(); }

// In the order of the variant, so that a call finds its name by its index.
struct method {
  const char* name;
  result<rpc_call> (*read)(const json& params);
};
constexpr method methods[] = {
    {"initialize", read_initialize},
    {"command.run", read_command_run},
    {"command.cancel", read_command_cancel},
    {"session.start", read_session_start},
    {"session.followUp", read_session_follow_up},
    {"session.handoff", read_session_handoff},
    {"session.wait", read_session_wait},
    {"session.status", read_session_status},
    {"session.abort", read_session_abort},
    {"session.stop", read_session_stop},
    {"session.follow", read_session_follow},
    {"session.unfollow", read_session_unfollow},
    {"approval.list", read_approval_list},
    {"approval.answer", read_approval_answer},
    {"shutdown", read_shutdown},
};
static_assert(std::size(methods) == std::variant_size_v<rpc_call>);

} // namespace

std::optional<result<rpc_call>> read_call(const std::string& name, const json& params) {
  for (const auto& m : methods)
    if (name == m.name)
      return m.read(params);
  return std::nullopt;
}

const char* method_name(const rpc_call& call) { return methods[call.index()].name; }

json write_params(const rpc_call& call) {
  return std::visit([](const auto& p) { return write_call(p); }, call);
}

} // namespace piorch::ipc
