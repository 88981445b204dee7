// The answers and what the server says on its own, both directions.
#include "ipc/base64.hpp"
#include "ipc/fields.hpp"
#include "ipc/json_text.hpp"
#include "ipc/protocol.hpp"

#include "config/limits.hpp"

namespace piorch::ipc {

namespace {

using nlohmann::json;

template <class T> void put(json& out, const char* name, const std::optional<T>& value) {
  if (value)
    out[name] = *value;
}
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
  json network = json::array();
  for (const auto& e : r.network)
    network.push_back(
        {{"host", e.host}, {"port", e.port}, {"decision", e.decision}, {"source", e.source}});
  return {{"exitCode", value_or_null(r.exit_code)},
          {"signal", value_or_null(r.signal)},
          {"timedOut", r.timed_out},
          {"cancelled", r.cancelled},
          {"ranOnHost", r.ran_on_host},
          {"durationMs", r.duration.count()},
          {"network", std::move(network)}};
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
  if (const auto* network = in.find("network"); network && network->is_array())
    for (const auto& item : *network)
      r.network.push_back(read_network_entry(in, item));
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
  return out += "]}";
}
template <> result<session_status_result> read(const json& value) {
  fields in(value);
  session_status_result r;
  const auto* sessions = in.need("sessions", "an array");
  if (sessions && sessions->is_array())
    for (const auto& item : *sessions)
      r.sessions.push_back(write_json(item));
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

std::string session_event_line(const std::string& session_id, std::uint64_t seq,
                               std::string_view time, std::string_view event_json) {
  std::string line;
  line.reserve(160 + event_json.size());
  line += R"({"jsonrpc":"2.0","method":"session.event","params":{"sessionId":)";
  append_json_string(line, session_id);
  line += ",\"seq\":" + std::to_string(seq) + ",\"time\":";
  append_json_string(line, time);
  line += ",\"event\":";
  line += event_json;
  return line += "}}";
}

} // namespace piorch::ipc
