#include "orchestration/providers.hpp"

#include "config/patterns.hpp"
#include "config/text.hpp"
#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace piorch::orchestration {

namespace {

constexpr std::size_t models_depth = 32;
constexpr std::size_t models_values = 100'000;

// Pi's words when no connection came about (its HTTP client's, in fact).
bool could_not_connect(std::string_view message) {
  constexpr std::array<std::string_view, 8> signs{
      "Connection error", "fetch failed", "HTTP Tunneling", "ENOTFOUND",
      "ECONNREFUSED",     "ENETUNREACH",  "EHOSTUNREACH",   "ECONNRESET"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](auto s) { return message.find(s) != std::string_view::npos; });
}

} // namespace

bool provider_endpoint::is_loopback() const {
  return host == "localhost" || host == "::1" || host.compare(0, 4, "127.") == 0;
}

provider_endpoint endpoint_of(std::string_view url) {
  provider_endpoint e;
  const auto scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos)
    return e;
  const auto scheme = config::lower_case(url.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https")
    return e;
  auto authority = url.substr(scheme_end + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos)
    authority.remove_prefix(at + 1);
  std::string_view port;
  std::string_view host = authority;
  if (!authority.empty() && authority.front() == '[') {
    const auto close = authority.find(']');
    if (close == std::string_view::npos)
      return e;
    host = authority.substr(1, close - 1);
    if (close + 1 < authority.size() && authority[close + 1] == ':')
      port = authority.substr(close + 2);
  } else if (const auto colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
  }
  unsigned number = scheme == "http" ? 80 : 443;
  if (!port.empty()) {
    if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos)
      return e;
    number = static_cast<unsigned>(std::stoul(std::string(port)));
    if (number == 0 || number > 65535)
      return e;
  }
  e.host = config::lower_case(host);
  e.port = static_cast<std::uint16_t>(number);
  return e;
}

std::vector<provider_endpoint> providers_of(std::string_view models_json) {
  std::vector<provider_endpoint> out;
  const auto parsed = parse(models_json, models_depth, models_values);
  if (!parsed)
    return out;
  const auto& providers = member(*parsed, "providers");
  if (!providers.is_object())
    return out;
  for (const auto& [name, entry] : providers.items()) {
    auto e = endpoint_of(string_at(entry, "baseUrl"));
    if (e.host.empty())
      continue;
    e.provider = name;
    out.push_back(std::move(e));
  }
  return out;
}

provider_endpoint denied_endpoint(std::string_view network_entry) {
  provider_endpoint e;
  const auto j = parse(network_entry, 4, 100);
  if (!j || string_at(*j, "decision") != "deny")
    return e;
  const auto port = count_at(*j, "port");
  if (port > 0 && port <= 65535) {
    e.host = string_at(*j, "host");
    e.port = static_cast<std::uint16_t>(port);
  }
  return e;
}

std::string explain_model_error(const std::string& message, std::string_view model,
                                const std::vector<provider_endpoint>& providers,
                                const provider_endpoint& denied) {
  if (!could_not_connect(message))
    return message;
  const std::string name(model.substr(0, model.find('/')));
  const auto known = std::find_if(providers.begin(), providers.end(),
                                  [&](const auto& p) { return p.provider == name; });
  const auto& at = known != providers.end() ? *known : denied;
  const auto who =
      "\nThe worker could not reach " + (name.empty() ? "its model provider" : "provider " + name);
  if (at.host.empty())
    return message + who +
           "; add the provider's host to network.allowedDomains in the piorch configuration.";
  const auto port = std::to_string(at.port);
  const auto where =
      (at.host.find(':') == std::string::npos ? at.host : "[" + at.host + "]") + ":" + port;
  if (!at.is_loopback())
    if (const auto pattern = config::parse_pattern(where, config::domain_list::allowed); !pattern)
      return message + who + " at " + where + ": " + pattern.failed().text;
  const std::string remedy = at.is_loopback()
                                 ? "\"network\": {\"allowedLocalPorts\": [" + port + "]}"
                                 : "\"network\": {\"allowedDomains\": [\"" + where + "\"]}";
  return message + who + " at " + where +
         "; if it is up, add to the piorch configuration: " + remedy;
}

} // namespace piorch::orchestration
