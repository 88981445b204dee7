#include "ipc/worker_link.hpp"

#include "config/text.hpp"
#include "ipc/json_text.hpp"
#include "ipc/system_error.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <sys/random.h>

namespace piorch::ipc {

using config::domain_list;
using nlohmann::json;

namespace {

constexpr std::size_t id_bytes = 128;
constexpr std::size_t path_bytes = 4096;
constexpr std::size_t host_bytes = 253;
constexpr std::size_t words_bytes = 512; // of what is for people

error refused(const char* why) { return {failure::usage, why}; }

const json* find(const json& in, const char* name) {
  const auto at = in.find(name);
  return at == in.end() ? nullptr : &*at;
}

// A string of `least` to `most` bytes without NUL, or nothing.
std::optional<std::string> text(const json& in, const char* name, std::size_t least,
                                std::size_t most) {
  const json* value = find(in, name);
  if (!value || !value->is_string())
    return std::nullopt;
  const auto& s = value->get_ref<const std::string&>();
  if (s.size() < least || s.size() > most || s.find('\0') != std::string::npos)
    return std::nullopt;
  return s;
}

// Of what only people read: absent and misshapen is empty.
std::string words(const json& in, const char* name) {
  const json* value = find(in, name);
  if (!value || !value->is_string())
    return {};
  return config::printable(value->get_ref<const std::string&>(), words_bytes);
}

std::optional<int> small_number(const json& in, const char* name) {
  const json* value = find(in, name);
  if (!value || !value->is_number_integer() || *value < 0 || *value > 255)
    return std::nullopt;
  return value->get<int>();
}

std::optional<worker_frame::kind> kind_of(const json& in) {
  const json* type = find(in, "type");
  if (type && *type == "register")
    return worker_frame::kind::register_worker;
  if (type && *type == "network")
    return worker_frame::kind::network;
  if (type && *type == "unregister")
    return worker_frame::kind::unregister;
  return std::nullopt;
}

const char* name_of(worker_frame::kind what) {
  switch (what) {
    case worker_frame::kind::register_worker:
      return "register";
    case worker_frame::kind::network:
      return "network";
    case worker_frame::kind::unregister:
      return "unregister";
  }
  return "";
}

bool read_patterns(const json& in, const char* name, domain_list list,
                   std::vector<config::domain_pattern>& out) {
  const json* value = find(in, name);
  if (!value || !value->is_array())
    return false;
  for (const json& item : *value) {
    if (!item.is_string())
      return false;
    auto pattern = config::parse_pattern(item.get_ref<const std::string&>(), list);
    if (!pattern)
      return false;
    out.push_back(std::move(*pattern));
  }
  return true;
}

// Exactly the two lists, each entry a pattern that its list may have: else nothing at all.
worker_policy read_policy(const json& in) {
  worker_policy out;
  const json* network = find(in, "network");
  if (network && network->is_object() && network->size() == 2 &&
      read_patterns(*network, "allowedDomains", domain_list::allowed, out.allowed) &&
      read_patterns(*network, "deniedDomains", domain_list::denied, out.denied))
    return out;
  worker_policy nothing;
  nothing.understood = false;
  if (auto all = config::parse_pattern("*", domain_list::denied))
    nothing.denied.push_back(std::move(*all));
  return nothing;
}

json texts(const std::vector<config::domain_pattern>& patterns) {
  json out = json::array();
  for (const auto& pattern : patterns)
    out.push_back(pattern.text());
  return out;
}

void put(json& out, const char* name, const std::string& value) {
  if (!value.empty())
    out[name] = value;
}

} // namespace

result<worker_frame> read_worker_frame(std::string_view line) {
  json in;
  if (line.size() > worker_frame_bytes)
    return refused("a frame is longer than 16 KiB");
  if (parse_json(line, in).fault != json_fault::none || !in.is_object())
    return refused("a frame is no JSON object");
  const json* version = find(in, "version");
  if (!version || !version->is_number_integer() || *version != 1)
    return refused("only version 1 is spoken here");
  const auto what = kind_of(in);
  if (!what)
    return refused("a frame of an unknown type");
  auto capability = text(in, "capability", 1, path_bytes);
  auto id = text(in, "id", 1, id_bytes);
  auto worker = text(in, "workerId", 1, id_bytes);
  auto cwd = text(in, "cwd", 1, path_bytes);
  if (!capability || !id || !worker || !cwd || cwd->front() != '/')
    return refused("a frame without a proper capability, id, workerId or cwd");
  worker_frame out;
  out.what = *what;
  out.capability = std::move(*capability);
  out.id = std::move(*id);
  out.worker_id = std::move(*worker);
  out.cwd = std::move(*cwd);
  if (*what == worker_frame::kind::register_worker) {
    const json* lease = find(in, "lease");
    out.lease = lease && *lease == true;
    out.agent = words(in, "agent");
    out.run = words(in, "run");
    out.parent = text(in, "parent", 1, id_bytes).value_or("");
  } else if (*what == worker_frame::kind::network) {
    auto host = text(in, "hostname", 1, host_bytes);
    const json* port = find(in, "port");
    if (!host || !port || !port->is_number_integer() || *port < 1 || *port > 65535)
      return refused("a network frame without a proper hostname or port");
    out.host = std::move(*host);
    out.port = port->get<std::uint16_t>();
  } else {
    out.exit_code = small_number(in, "exitCode");
    out.signal = small_number(in, "signal");
    out.reason = words(in, "reason");
  }
  return out;
}

std::string write(const worker_frame& frame) {
  json out{{"version", 1},
           {"capability", frame.capability},
           {"id", frame.id},
           {"type", name_of(frame.what)},
           {"workerId", frame.worker_id},
           {"cwd", frame.cwd}};
  if (frame.what == worker_frame::kind::register_worker) {
    if (frame.lease)
      out["lease"] = true;
    put(out, "agent", frame.agent);
    put(out, "run", frame.run);
    put(out, "parent", frame.parent);
  } else if (frame.what == worker_frame::kind::network) {
    out["hostname"] = frame.host;
    out["port"] = frame.port;
  } else {
    if (frame.exit_code)
      out["exitCode"] = *frame.exit_code;
    if (frame.signal)
      out["signal"] = *frame.signal;
    put(out, "reason", frame.reason);
  }
  return write_json(out);
}

result<std::string> new_capability() {
  std::array<unsigned char, capability_digits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fault("the kernel gives no random bytes");
  std::string out;
  for (const unsigned char b : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

bool is_same_capability(std::string_view a, std::string_view b) {
  if (a.size() != capability_digits || b.size() != capability_digits)
    return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < capability_digits; ++i)
    different |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return different == 0;
}

result<worker_reply> read_worker_reply(std::string_view line) {
  json in;
  if (line.size() > worker_frame_bytes * 64 || parse_json(line, in).fault != json_fault::none ||
      !in.is_object())
    return error{failure::fault, "the supervisor's answer is not understood"};
  worker_reply out;
  if (const json* type = find(in, "type"); type && *type == "heartbeat") {
    out.what = worker_reply::kind::heartbeat;
    return out;
  }
  out.id = text(in, "id", 1, id_bytes).value_or("");
  const json* action = find(in, "action");
  out.allow = action && *action == "allow"; // whatever else it says is a deny
  out.policy = read_policy(in);
  out.heartbeat = std::chrono::seconds(small_number(in, "heartbeatSeconds").value_or(0));
  out.source = words(in, "source");
  out.reason = words(in, "reason");
  return out;
}

std::string write_register_reply(const std::string& id, const worker_policy& policy,
                                 std::chrono::seconds heartbeat) {
  json out{{"id", id},
           {"action", "allow"},
           {"network",
            {{"allowedDomains", texts(policy.allowed)}, {"deniedDomains", texts(policy.denied)}}}};
  if (heartbeat.count() > 0)
    out["heartbeatSeconds"] = heartbeat.count();
  return write_json(out);
}

std::string write_answer(const std::string& id, bool allow, const std::string& source,
                         const std::string& reason) {
  json out{{"action", allow ? "allow" : "deny"}};
  put(out, "id", id);
  put(out, "source", source);
  put(out, "reason", reason);
  return write_json(out);
}

std::string write_heartbeat() { return R"({"type":"heartbeat"})"; }

} // namespace piorch::ipc
