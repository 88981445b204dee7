#include "config/settings.hpp"

#include "config/strict_json.hpp"
#include "config/text.hpp"

#include <climits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace piorch::config {

namespace {

using nlohmann::json;

// What a reader of one value answers: "" when it is good, else what follows the
// key in the error line (": must be …", "[2]: …").
using fault = std::string;

std::string_view kind(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::number_float:
      return "a number with a fraction or an exponent, or of more than 19 digits";
    default:
      return "a number";
  }
}

fault must_be(std::string_view accepted, std::string_view instead) {
  return ": must be " + std::string(accepted) + ", not " + std::string(instead);
}

fault wrong_kind(std::string_view accepted, const json& value) {
  return must_be(accepted, kind(value));
}

// --- values ------------------------------------------------------------------

template <class Enum> using word_of = std::pair<std::string_view, Enum>;

template <class Enum, std::size_t Count>
fault read_word(const json& value, const word_of<Enum> (&words)[Count], Enum& out) {
  std::string accepted;
  for (const auto& [word, meaning] : words) {
    if (value.is_string() && value.get_ref<const std::string&>() == word) {
      out = meaning;
      return {};
    }
    accepted += (accepted.empty() ? "\"" : ", \"") + std::string(word) + '"';
  }
  if (!value.is_string())
    return wrong_kind("one of " + accepted, value);
  return must_be("one of " + accepted, in_quotes(value.get_ref<const std::string&>()));
}

fault read_number(const json& value, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  const std::string accepted =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value.is_number_integer())
    return wrong_kind(accepted, value);
  // A negative one is the only integer that is not stored as unsigned.
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
      value.get<std::uint64_t>() > most)
    return must_be(accepted, value.dump());
  out = value.get<std::uint64_t>();
  return {};
}

fault read_boolean(const json& value, bool& out) {
  if (!value.is_boolean())
    return wrong_kind("true or false", value);
  out = value.get<bool>();
  return {};
}

// Calls `read_item(item, index)` for each element of an array.
template <class ReadItem>
fault read_list(const json& value, std::string_view accepted, ReadItem read_item) {
  if (!value.is_array())
    return wrong_kind("an array of " + std::string(accepted), value);
  for (std::size_t i = 0; i < value.size(); ++i)
    if (auto bad = read_item(value[i]); !bad.empty())
      return '[' + std::to_string(i) + ']' + bad;
  return {};
}

fault read_patterns(const json& value, domain_list list, std::vector<domain_pattern>& out) {
  std::unordered_set<std::string> seen;
  return read_list(value, "domain patterns", [&](const json& item) -> fault {
    if (!item.is_string())
      return wrong_kind("a domain pattern", item);
    auto pattern = parse_pattern(item.get_ref<const std::string&>(), list);
    if (!pattern)
      return ": " + pattern.failed().text;
    if (seen.insert(pattern->text()).second)
      out.push_back(std::move(*pattern));
    return {};
  });
}

fault read_absolute_paths(const json& value, std::vector<std::string>& out) {
  std::unordered_set<std::string> seen;
  return read_list(value, "absolute paths", [&](const json& item) -> fault {
    if (!item.is_string())
      return wrong_kind("an absolute path", item);
    const auto& path = item.get_ref<const std::string&>();
    if (path.empty() || path[0] != '/')
      return must_be("an absolute path (\"~\" is not expanded)", in_quotes(path));
    if (path.find('\0') != std::string::npos)
      return ": " + in_quotes(path) + " has a NUL byte, which no path has";
    if (path.size() >= PATH_MAX)
      return ": is longer than the " + std::to_string(PATH_MAX - 1) + " bytes of a path";
    if (seen.insert(path).second)
      out.push_back(path);
    return {};
  });
}

fault read_prefixes(const json& value, std::vector<std::string>& out) {
  std::unordered_set<std::string> seen;
  return read_list(value, "command prefixes", [&](const json& item) -> fault {
    if (!item.is_string())
      return wrong_kind("a command prefix", item);
    const auto prefix = trimmed(item.get_ref<const std::string&>());
    if (prefix.empty())
      return ": is empty: it would match every command";
    for (const char c : prefix)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return ": " + in_quotes(prefix) + " has a control character";
    if (seen.emplace(prefix).second)
      out.emplace_back(prefix);
    return {};
  });
}

fault read_ports(const json& value, std::vector<std::uint16_t>& out) {
  std::unordered_set<std::uint64_t> seen;
  return read_list(value, "port numbers", [&](const json& item) -> fault {
    std::uint64_t port = 0;
    if (auto bad = read_number(item, 1, 65535, port); !bad.empty())
      return bad;
    if (limits::is_proxy_port(port))
      return ": " + std::to_string(port) + " is the port of a sandbox's own proxy";
    if (seen.insert(port).second)
      out.push_back(static_cast<std::uint16_t>(port));
    return {};
  });
}

// --- keys --------------------------------------------------------------------

struct key_rule {
  std::string_view section;
  std::string_view name;
  fault (*read)(const json& value, settings& out);
};

constexpr word_of<subagents_provider> providers[] = {
    {"builtin", subagents_provider::builtin},
    {"pi-subagents", subagents_provider::pi_subagents},
    {"off", subagents_provider::off}};
constexpr word_of<worker_isolation> isolations[] = {{"off", worker_isolation::off},
                                                    {"enforce", worker_isolation::enforce}};
constexpr word_of<host_ipc_mode> host_ipc_modes[] = {{"off", host_ipc_mode::off},
                                                     {"ask", host_ipc_mode::ask}};

// Every key there is, in the order of the contract.
constexpr key_rule rules[] = {
    {"subagents", "provider",
     [](const json& v, settings& s) { return read_word(v, providers, s.subagents.provider); }},
    {"subagents", "externalWorkerIsolation",
     [](const json& v, settings& s) {
       return read_word(v, isolations, s.subagents.external_worker_isolation);
     }},
    {"filesystem", "additionalAllowRead",
     [](const json& v, settings& s) {
       return read_absolute_paths(v, s.filesystem.additional_allow_read);
     }},
    {"network", "allowedDomains",
     [](const json& v, settings& s) {
       return read_patterns(v, domain_list::allowed, s.network.allowed_domains);
     }},
    {"network", "deniedDomains",
     [](const json& v, settings& s) {
       return read_patterns(v, domain_list::denied, s.network.denied_domains);
     }},
    {"network", "allowedLocalPorts",
     [](const json& v, settings& s) { return read_ports(v, s.network.allowed_local_ports); }},
    {"hostIPC", "mode",
     [](const json& v, settings& s) { return read_word(v, host_ipc_modes, s.host_ipc.mode); }},
    {"hostIPC", "preflightCommandPrefixes",
     [](const json& v, settings& s) {
       return read_prefixes(v, s.host_ipc.preflight_command_prefixes);
     }},
    {"hostIPC", "retryOnUnixSocketError",
     [](const json& v, settings& s) {
       return read_boolean(v, s.host_ipc.retry_on_unix_socket_error);
     }},
    {"approvals", "timeoutSeconds",
     [](const json& v, settings& s) {
       std::uint64_t seconds = 0;
       auto bad = read_number(v, 1, limits::approval_timeout_max.count(), seconds);
       if (bad.empty())
         s.approvals.timeout = std::chrono::seconds(seconds);
       return bad;
     }},
    {"limits", "processes",
     [](const json& v, settings& s) {
       return read_number(v, 1, limits::sandbox_processes_max, s.limits.processes);
     }},
    {"limits", "memoryMiB",
     [](const json& v, settings& s) {
       return read_number(v, 1, limits::sandbox_memory_mib_max, s.limits.memory_mib);
     }},
    {"sessions", "keepDays",
     [](const json& v, settings& s) {
       std::uint64_t days = 0;
       auto bad = read_number(v, 1, limits::session_keep_days_max, days);
       if (bad.empty())
         s.sessions.keep = std::chrono::hours(24 * days);
       return bad;
     }},
    {"sessions", "keepCount",
     [](const json& v, settings& s) {
       return read_number(v, 1, limits::session_keep_count_max, s.sessions.keep_count);
     }},
};

std::string full_name(const key_rule& rule) {
  return std::string(rule.section) + '.' + std::string(rule.name);
}

bool is_section(std::string_view name) {
  for (const auto& rule : rules)
    if (rule.section == name)
      return true;
  return false;
}

// ": unknown key", with what was probably meant: the same name in its right
// section, or the nearest spelling.
fault unknown_key(std::string_view section, std::string_view name) {
  const std::string full =
      section.empty() ? std::string(name) : std::string(section) + '.' + std::string(name);
  std::vector<std::string> names;
  std::string meant;
  for (const auto& rule : rules) {
    if (lower_case(rule.name) == lower_case(name))
      meant = full_name(rule);
    names.push_back(full_name(rule));
    if (section.empty())
      names.emplace_back(rule.section);
  }
  if (meant.empty())
    meant = nearest(full, {names.begin(), names.end()});
  fault out = ": unknown key";
  if (!meant.empty())
    return out + " (did you mean " + meant + "?)";
  std::string known;
  for (const auto& rule : rules) {
    const auto& one = section.empty() ? rule.section : rule.name;
    if ((section.empty() || rule.section == section) && known.find(one) == std::string::npos)
      known += (known.empty() ? "" : ", ") + std::string(one);
  }
  return out + " (known here: " + known + ')';
}

// The full key and its fault, or "".
fault read_section(std::string_view section, const json& value, settings& out) {
  if (!value.is_object())
    return std::string(section) + wrong_kind("an object", value);
  for (const auto& item : value.items()) {
    const key_rule* found = nullptr;
    for (const auto& rule : rules)
      if (rule.section == section && rule.name == item.key())
        found = &rule;
    const fault bad = found ? found->read(item.value(), out) : unknown_key(section, item.key());
    if (!bad.empty())
      return std::string(section) + '.' + printable(item.key(), 80) + bad;
  }
  return {};
}

fault read_document(const json& document, settings& out) {
  if (!document.is_object())
    return "the document must be an object, not " + std::string(kind(document));
  for (const auto& item : document.items()) {
    const fault bad = is_section(item.key())
                          ? read_section(item.key(), item.value(), out)
                          : printable(item.key(), 80) + unknown_key("", item.key());
    if (!bad.empty())
      return bad;
  }
  return {};
}

template <class Enum, std::size_t Count>
std::string_view word(const word_of<Enum> (&words)[Count], Enum value) {
  for (const auto& [text, meaning] : words)
    if (meaning == value)
      return text;
  return {};
}

json texts(const std::vector<domain_pattern>& patterns) {
  json out = json::array();
  for (const auto& pattern : patterns)
    out.push_back(pattern.text());
  return out;
}

} // namespace

result<settings> parse_settings(std::string_view text, std::string_view file_name) {
  const auto refuse = [&](const std::string& why) {
    return error{failure::configuration_invalid, printable(file_name) + ": " + why};
  };
  if (text.size() > limits::settings_file_bytes)
    return refuse("is larger than " + std::to_string(limits::settings_file_bytes) + " bytes");
  auto document = parse_strict_json(text, limits::settings_file_depth);
  if (!document)
    return refuse(document.failed().text);
  settings out;
  if (const fault bad = read_document(*document, out); !bad.empty())
    return refuse(bad);
  return out;
}

std::string settings_json(const settings& values) {
  const auto& s = values;
  nlohmann::ordered_json out;
  out["subagents"]["provider"] = word(providers, s.subagents.provider);
  out["subagents"]["externalWorkerIsolation"] =
      word(isolations, s.subagents.external_worker_isolation);
  out["filesystem"]["additionalAllowRead"] = s.filesystem.additional_allow_read;
  out["network"]["allowedDomains"] = texts(s.network.allowed_domains);
  out["network"]["deniedDomains"] = texts(s.network.denied_domains);
  out["network"]["allowedLocalPorts"] = s.network.allowed_local_ports;
  out["hostIPC"]["mode"] = word(host_ipc_modes, s.host_ipc.mode);
  out["hostIPC"]["preflightCommandPrefixes"] = s.host_ipc.preflight_command_prefixes;
  out["hostIPC"]["retryOnUnixSocketError"] = s.host_ipc.retry_on_unix_socket_error;
  out["approvals"]["timeoutSeconds"] = s.approvals.timeout.count();
  out["limits"]["processes"] = s.limits.processes;
  out["limits"]["memoryMiB"] = s.limits.memory_mib;
  out["sessions"]["keepDays"] = s.sessions.keep.count() / 24;
  out["sessions"]["keepCount"] = s.sessions.keep_count;
  return out.dump(2);
}

} // namespace piorch::config
