// The answers and what the server says on its own, both directions.
#include "ipc/base64.hpp"
#include "ipc/fields.hpp"
#include "ipc/json_text.hpp"
#include "ipc/protocol.hpp"

#include "config/limits.hpp"

namespace piorch::ipc {

namespace {

using nlohmann::json;

template <class T> json value_or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}
// Answers are read leniently: a newer server may say more.
template <class T> result<T> finish(const fields& in, T&& value) {
  if (in.failed())
    return error{failure::fault,
                 "the orchestrator sent an answer we do not understand: " + in.failure_of().text};
  return std::forward<T>(value);
}

network_entry read_network_entry(fields& owner, const json& value) {
  fields in(value, "network.");
  network_entry e;
  e.host = in.text("host");
  e.port = static_cast<std::uint16_t>(in.count("port", UINT16_MAX));
  e.decision = in.text("decision");
  e.source = in.text("source");
  owner.absorb(in);
  return e;
}

json write_network(const std::vector<network_entry>& all) {
  json out = json::array();
  for (const auto& e : all)
    out.push_back(
        {{"host", e.host}, {"port", e.port}, {"decision", e.decision}, {"source", e.source}});
  return out;
}

std::vector<network_entry> read_network(fields& in) {
  std::vector<network_entry> out;
  if (const auto* all = in.find("network"); all && all->is_array())
    for (const auto& item : *all)
      out.push_back(read_network_entry(in, item));
  return out;
}

json write_refused(const std::vector<refused_path>& all) {
  json out = json::array();
  for (const auto& r : all)
    out.push_back({{"path", r.path}, {"rule", r.rule}});
  return out;
}

std::vector<refused_path> read_refused(fields& in) {
  std::vector<refused_path> out;
  if (const auto* all = in.find("refusedPaths"); all && all->is_array())
    for (const auto& item : *all) {
      fields one(item, "refusedPaths.");
      out.push_back({one.text("path"), one.text("rule")});
      in.absorb(one);
    }
  return out;
}

approval_request read_approval(fields& owner, const json& value) {
  fields in(value, "approval.");
  approval_request a;
  a.id = in.id("id");
  a.surface = in.text("surface");
  a.operation = in.text("operation");
  a.destination = in.maybe_text("destination");
  a.command = in.text("command");
  a.cwd = in.text("cwd");
  a.session_id = in.maybe_text("sessionId");
  a.agent_name = in.maybe_text("agentName");
  a.matched_policy = in.maybe_text("matchedPolicy");
  a.warning = in.maybe_text("warning");
  a.expires_at = in.text("expiresAt");
  owner.absorb(in);
  return a;
}

} // namespace

json write(const initialize_result& r) {
  json sandbox{{"platform", r.platform}, {"available", r.available}};
  if (!r.available)
    sandbox["reason"] = r.reason;
  return {
      {"protocolVersion", protocol_version},
      {"server", {{"name", "piorch"}, {"version", r.server_version}, {"pid", r.pid}}},
      {"limits", {{"maxLiveSessions", limits::live_sessions}, {"maxDepth", limits::session_depth}}},
      {"sandbox", std::move(sandbox)}};
}
template <> result<initialize_result> read(const json& value) {
  fields in(value);
  initialize_result r;
  if (const auto* version = in.need("protocolVersion", "1");
      version && *version != protocol_version)
    in.fail("protocolVersion", "1");
  if (const auto* server = in.need("server", "an object")) {
    fields s(*server, "server.");
    r.server_version = s.text("version");
    r.pid = static_cast<std::int64_t>(s.count("pid", INT64_MAX));
    in.absorb(s);
  }
  if (const auto* sandbox = in.need("sandbox", "an object")) {
    fields s(*sandbox, "sandbox.");
    r.platform = s.text("platform");
    r.available = s.flag("available");
    r.reason = s.maybe_text("reason").value_or("");
    in.absorb(s);
  }
  return finish(in, std::move(r));
}

json write(const command_run_result& r) {
  return {{"exitCode", value_or_null(r.exit_code)},
          {"signal", value_or_null(r.signal)},
          {"timedOut", r.timed_out},
          {"cancelled", r.cancelled},
          {"ranOnHost", r.ran_on_host},
          {"durationMs", r.duration.count()},
          {"network", write_network(r.network)},
          {"refusedPaths", write_refused(r.refused_paths)}};
}
template <> result<command_run_result> read(const json& value) {
  fields in(value);
  command_run_result r;
  r.exit_code = in.maybe_int("exitCode");
  r.signal = in.maybe_int("signal");
  r.timed_out = in.flag("timedOut");
  r.cancelled = in.flag("cancelled");
  r.ran_on_host = in.flag("ranOnHost");
  r.duration =
      std::chrono::milliseconds(static_cast<std::int64_t>(in.count("durationMs", INT64_MAX)));
  r.network = read_network(in);
  r.refused_paths = read_refused(in);
  return finish(in, std::move(r));
}

json write(const command_report_result& r) {
  json out{{"id", r.id},
           {"command", r.command},
           {"cwd", r.cwd},
           {"startedAt", r.started_at},
           {"network", write_network(r.network)},
           {"refusedPaths", write_refused(r.refused_paths)},
           {"leftOut", r.left_out}};
  put(out, "endedAt", r.ended_at);
  return out;
}

json write(const command_list_result& r) {
  json commands = json::array();
  for (const auto& c : r.commands) {
    json out{{"pid", c.pid},
             {"command", c.command},
             {"cwd", c.cwd},
             {"onHost", c.on_host},
             {"startedAt", c.started_at},
             {"activeAt", c.active_at},
             {"cpuSeconds", c.cpu_seconds},
             {"rssBytes", c.rss_bytes},
             {"processes", c.processes}};
    put(out, "id", c.id);
    put(out, "sessionId", c.session_id);
    commands.push_back(std::move(out));
  }
  return {{"commands", std::move(commands)}, {"revision", r.revision}};
}
template <> result<command_list_result> read(const json& value) {
  fields in(value);
  command_list_result r;
  const auto* commands = in.need("commands", "an array");
  if (commands && commands->is_array())
    for (const auto& item : *commands) {
      fields c(item, "commands.");
      command_entry e;
      e.pid = static_cast<std::int64_t>(c.count("pid", INT32_MAX));
      e.id = c.maybe_text("id");
      e.session_id = c.maybe_text("sessionId");
      e.command = c.text("command");
      e.cwd = c.text("cwd");
      e.on_host = c.flag("onHost");
      e.started_at = c.text("startedAt");
      e.active_at = c.text("activeAt");
      e.cpu_seconds = c.real("cpuSeconds");
      e.rss_bytes = c.count("rssBytes");
      e.processes = c.count("processes");
      in.absorb(c);
      r.commands.push_back(std::move(e));
    }
  r.revision = in.count("revision");
  return finish(in, std::move(r));
}

std::string write_text(const session_answer& a) {
  std::string out = "{\"session\":" + a.session;
  if (a.text) {
    out += ",\"text\":";
    append_json_string(out, *a.text);
  }
  return out += '}';
}
template <> result<session_answer> read(const json& value) {
  fields in(value);
  session_answer a;
  const auto* session = in.need("session", "an object");
  if (session && session->is_object())
    a.session = write_json(*session);
  else
    in.fail("session", "an object");
  if (const auto* text = in.find("text"); text && text->is_string()) // a model's text may hold NUL
    a.text = text->get<std::string>();
  return finish(in, std::move(a));
}

std::string write_text(const session_status_result& r) {
  std::string out = "{\"sessions\":[";
  for (const auto& document : r.sessions)
    out += (out.back() == '[' ? "" : ",") + document;
  out += "],\"revision\":" + std::to_string(r.revision);
  return out += r.all ? ",\"all\":true}" : "}";
}
template <> result<session_status_result> read(const json& value) {
  fields in(value);
  session_status_result r;
  const auto* sessions = in.need("sessions", "an array");
  if (sessions && sessions->is_array())
    for (const auto& item : *sessions)
      r.sessions.push_back(write_json(item));
  r.revision = in.count("revision");
  r.all = in.flag("all");
  return finish(in, std::move(r));
}

json write(const session_follow_result& r) { return {{"next", r.next}}; }
template <> result<session_follow_result> read(const json& value) {
  fields in(value);
  session_follow_result r{in.count("next")};
  return finish(in, std::move(r));
}

json write(const approval_request& a) {
  json out{{"id", a.id},           {"surface", a.surface}, {"operation", a.operation},
           {"command", a.command}, {"cwd", a.cwd},         {"expiresAt", a.expires_at}};
  put(out, "destination", a.destination);
  put(out, "sessionId", a.session_id);
  put(out, "agentName", a.agent_name);
  put(out, "matchedPolicy", a.matched_policy);
  put(out, "warning", a.warning);
  return out;
}
template <> result<approval_request> read(const json& value) {
  const json nothing = json::object();
  fields in(nothing);
  auto a = read_approval(in, value);
  return finish(in, std::move(a));
}

json write(const approval_decision& d) {
  json out{{"action", d.allow ? "allow" : "deny"}};
  put(out, "source", d.source);
  put(out, "reason", d.reason);
  return out;
}
// Of a client: strict, and nothing but the word "allow" allows.
template <> result<approval_decision> read(const json& value) {
  fields in(value);
  approval_decision d;
  d.allow = in.one_of("action", {"allow", "deny"}) == "allow";
  d.source = in.maybe_text("source");
  d.reason = in.maybe_text("reason");
  in.no_others();
  if (in.failed())
    return in.failure_of();
  return d;
}

json write(const approval_cancelled& c) { return {{"id", c.id}}; }
template <> result<approval_cancelled> read(const json& value) {
  fields in(value);
  approval_cancelled c{in.id("id")};
  return finish(in, std::move(c));
}

json write(const approval_list_result& r) {
  json approvals = json::array();
  for (const auto& a : r.approvals)
    approvals.push_back(write(a));
  return {{"approvals", std::move(approvals)}, {"revision", r.revision}};
}
template <> result<approval_list_result> read(const json& value) {
  fields in(value);
  approval_list_result r;
  const auto* approvals = in.need("approvals", "an array");
  if (approvals && approvals->is_array())
    for (const auto& item : *approvals)
      r.approvals.push_back(read_approval(in, item));
  r.revision = in.count("revision");
  return finish(in, std::move(r));
}

json write(const worker_supervise_result& r) {
  return {{"socket", r.socket}, {"capability", r.capability}};
}
template <> result<worker_supervise_result> read(const json& value) {
  fields in(value);
  worker_supervise_result r;
  r.socket = in.path("socket");
  r.capability = in.text("capability");
  return finish(in, std::move(r));
}

json write(const worker_changed& w) {
  json out{{"id", w.id},   {"cwd", w.cwd},     {"agent", w.agent},          {"run", w.run},
           {"pid", w.pid}, {"state", w.state}, {"startedAt", w.started_at}, {"number", w.number}};
  put(out, "parent", w.parent);
  put(out, "endedAt", w.ended_at);
  put(out, "exitCode", w.exit_code);
  put(out, "signal", w.signal);
  put(out, "reason", w.reason);
  return {{"worker", std::move(out)}};
}
template <> result<worker_changed> read(const json& value) {
  fields outer(value);
  worker_changed w;
  const json nothing = json::object();
  const auto* worker = outer.need("worker", "an object");
  fields in(worker ? *worker : nothing, "worker.");
  w.id = in.id("id");
  w.cwd = in.path("cwd");
  w.agent = in.text("agent");
  w.run = in.text("run");
  w.pid = static_cast<std::int64_t>(in.count("pid", INT32_MAX));
  w.state = in.one_of("state", {"running", "completed", "failed", "stopped"});
  w.started_at = in.text("startedAt");
  w.number = in.count("number");
  w.parent = in.maybe_text("parent");
  w.ended_at = in.maybe_text("endedAt");
  w.exit_code = in.maybe_int("exitCode");
  w.signal = in.maybe_int("signal");
  w.reason = in.maybe_text("reason");
  in.no_others();
  outer.absorb(in);
  return finish(outer, std::move(w));
}

template <> result<command_output> read(const json& value) {
  fields in(value);
  command_output o;
  o.id = in.id("id");
  o.is_stderr = in.one_of("stream", {"stdout", "stderr"}) == "stderr";
  if (auto bytes = decode_base64(in.text("data")))
    o.bytes = std::move(*bytes);
  else
    in.fail("data", "base64");
  return finish(in, std::move(o));
}

std::string command_output_line(const std::string& id, bool is_stderr, std::string_view bytes) {
  std::string line;
  line.reserve(128 + id.size() + bytes.size() / 3 * 4);
  line += R"({"jsonrpc":"2.0","method":"command.output","params":{"id":)";
  append_json_string(line, id);
  line += is_stderr ? R"(,"stream":"stderr","data":")" : R"(,"stream":"stdout","data":")";
  append_base64(line, bytes);
  return line += "\"}}";
}

} // namespace piorch::ipc
