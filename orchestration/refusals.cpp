#include "orchestration/refusals.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

constexpr std::size_t most_refusals = 500;

// The words of the protocol for who or what decided (docs/protocol.md).
std::string reason_of(const std::string& source) {
  if (source == "approval")
    return "no rule speaks of it, and whoever was asked said no";
  if (source == "terminal")
    return "no rule speaks of it, and it was denied on the terminal";
  if (source == "approvalTimeout")
    return "no rule speaks of it, and nobody answered in time (approvals.timeoutSeconds)";
  if (source == "noApprover")
    return "no rule speaks of it, and nobody could be asked (piorch help approvals)";
  if (source == "tooManyRequests")
    return "no rule speaks of it, and as many requests as may wait for an answer did so already";
  if (source == "approverLeft")
    return "no rule speaks of it, and whoever was asked left without an answer";
  if (source == "earlierDenial")
    return "it was denied less than a minute before, and is not asked again so soon";
  if (source == "protocol")
    return "it was no request that the proxy takes (HTTP: CONNECT or a whole URL, SOCKS: version "
           "5, CONNECT, "
           "no log-in)";
  if (source == "hostName")
    return "it is not a public host name, and only those are connected to";
  if (source == "address")
    return "its name leads to an address that is not public";
  return "no rule speaks of it, and it was denied by " + source;
}

std::string one_setting(const char* key, json value) {
  return "\"network\": " + dump({{key, json::array({std::move(value)})}});
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "127.0.0.1";
}

} // namespace

void refusals::explain_connection(refusal& r, const std::string& host, std::uint16_t port) const {
  const auto& n = settings_.network;
  const auto* denied = config::find_match(n.denied_domains, host, port);
  const auto* allowed = config::find_match(n.allowed_domains, host, port);
  const bool by_list = r.rule == "deniedDomains";
  r.reason = by_list ? "it was in network.deniedDomains or --deny-domain" : reason_of(r.rule);
  if (denied) {
    if (by_list)
      r.reason = "\"" + denied->text() + "\" of network.deniedDomains covers it";
    r.remedy = "to allow it, take \"" + denied->text() + "\" out of network.deniedDomains in " +
               file_ + ": it wins over every allowed pattern";
    return;
  }
  if (r.rule == "protocol") {
    r.remedy = "no setting allows it: the program has to ask for the connection in that way";
    return;
  }
  if (r.rule == "hostName") {
    if (is_this_machine(host) && port != 0) {
      r.setting = one_setting("allowedLocalPorts", port);
      r.remedy =
          "to reach a server on this machine, add the port to network.allowedLocalPorts in " +
          file_ + ", and use 127.0.0.1";
    } else {
      r.remedy = "no setting allows it: use the full name of the host instead";
    }
    return;
  }
  if (allowed) {
    r.remedy = r.rule == "address"
                   ? "its name is allowed (\"" + allowed->text() +
                         "\"); an address of this machine or of the link is never connected to"
                   : "the configuration allows it by now: \"" + allowed->text() +
                         "\" of network.allowedDomains in " + file_;
    return;
  }
  const auto pattern = host + ":" + std::to_string(port);
  if (!config::parse_pattern(pattern, config::domain_list::allowed)) {
    r.remedy = "no setting allows it: it cannot be written as a pattern of network.allowedDomains";
    return;
  }
  r.setting = one_setting("allowedDomains", pattern);
  r.remedy =
      (r.rule == "address" ? "if it is a host of a private network, add" : "to allow it, add") +
      std::string(" it to network.allowedDomains in ") + file_;
}

void refusals::take_connection(const json& fact, const std::string& time) {
  if (string_at(fact, "decision") != "deny")
    return;
  const auto host = string_at(fact, "host");
  const auto port =
      static_cast<std::uint16_t>(std::min<std::uint64_t>(count_at(fact, "port"), UINT16_MAX));
  refusal r;
  r.target = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != 0) // a name that is none has none
    r.target += ":" + std::to_string(port);
  r.rule = string_at(fact, "source");
  r.time = time;
  explain_connection(r, host, port);
  add(std::move(r));
}

void refusals::take_file(const json& fact, const std::string& time) {
  refusal r;
  r.is_file = true;
  r.target = string_at(fact, "path");
  r.rule = string_at(fact, "rule");
  r.time = time;
  const bool outside = r.rule == "a file outside, given for reading";
  r.reason = outside ? "it is outside of the workspace and was given for reading only"
                     : "the host's own programs read, run or obey it (" + r.rule + ")";
  r.remedy = outside ? "no setting allows it: only the workspace can be written"
                     : "no setting allows it: make the change yourself, outside of the sandbox";
  add(std::move(r));
}

void refusals::add(refusal r) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const refusal& known) {
    return known.is_file == r.is_file && known.target == r.target && known.rule == r.rule;
  });
  if (same != all_.end()) {
    ++same->count;
  } else if (all_.size() >= most_refusals) {
    ++left_out_;
  } else {
    r.count = 1;
    all_.push_back(std::move(r));
  }
}

void refusals::take_event(const json& numbered) {
  const auto& event = member(numbered, "event");
  const auto type = string_at(event, "type");
  if (type == "network")
    take_connection(member(event, "fact"), string_at(numbered, "time"));
  else if (type == "refusedFile")
    take_file(member(event, "fact"), string_at(numbered, "time"));
  else if (type == "gap")
    missing_ +=
        count_at(event, "to") - std::min(count_at(event, "from"), count_at(event, "to")) + 1;
}

void refusals::take_report(const json& report) {
  if (const auto& paths = member(report, "refusedPaths"); paths.is_array())
    for (const auto& fact : paths)
      take_file(fact, {});
  if (const auto& network = member(report, "network"); network.is_array())
    for (const auto& fact : network)
      take_connection(fact, {});
  left_out_ += count_at(report, "leftOut");
}

std::string refusals_text(const refusals& r, const std::string& of) {
  std::string out;
  for (const auto& one : r.all()) {
    out += (one.is_file ? "file  " : "network  ") + one_line(one.target, 1000);
    if (one.count > 1)
      out += "  (" + std::to_string(one.count) + " times)";
    out += "\n    refused: " + one_line(one.reason, 1000) + "\n    " + one_line(one.remedy, 1000) +
           "\n";
    if (!one.setting.empty())
      out += "        " + one_line(one.setting, 1000) + "\n";
  }
  if (r.all().empty())
    out = "nothing was refused to " + of +
          " by the network's rules or as a protected path\n"
          "(writing outside of the workspace fails without a record: piorch policy shows what "
          "can be written)\n";
  if (r.left_out() > 0)
    out += "and " + std::to_string(r.left_out()) + " more\n";
  if (r.missing() > 0)
    out += std::to_string(r.missing()) + " events of it were not kept; they may tell of more\n";
  return out;
}

json refusals_json(const refusals& r) {
  json list = json::array();
  for (const auto& one : r.all()) {
    json j{{"kind", one.is_file ? "file" : "network"},
           {"target", one.target},
           {"rule", one.rule},
           {"reason", one.reason},
           {"remedy", one.remedy},
           {"setting", one.setting.empty() ? json(nullptr) : json(one.setting)},
           {"count", one.count}};
    if (!one.time.empty())
      j["time"] = one.time;
    list.push_back(std::move(j));
  }
  return {{"refusals", std::move(list)}, {"leftOut", r.left_out()}, {"missingEvents", r.missing()}};
}

} // namespace piorch::orchestration
