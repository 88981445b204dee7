#include "config/patterns.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>

namespace piorch::config {

namespace {

constexpr std::size_t longest_name = 253; // RFC 1035, without the trailing dot
constexpr std::size_t longest_label = 63;

// Names that by agreement never are public hosts: RFC 6761 and its registry,
// RFC 6762 (local), 7686 (onion), 8375 (home.arpa, under arpa), 9476 (alt),
// ICANN's "internal", and "localdomain", which many hosts files map to loopback.
// The example.{com,net,org} names stay public: they resolve, and tests need them.
constexpr std::array<std::string_view, 10> special_use = {
    "localhost", "localdomain", "local",   "internal", "onion",
    "invalid",   "test",        "example", "alt",      "arpa"};

error refused(std::string_view pattern, std::string_view why) {
  std::string text = in_quotes(pattern);
  text += ' ';
  text += why;
  return {failure::configuration_invalid, std::move(text)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_of(std::string_view text, bool (*test)(char)) {
  return std::all_of(text.begin(), text.end(), test);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What resolvers take for an IPv4 address in some spelling: a last label that is
// a number (127.1, 2130706433, 0x7f.0.0.1, 0177.0.0.1). No public name ends so.
bool ends_in_number(std::string_view host) {
  const auto dot = host.rfind('.');
  const auto last = dot == std::string_view::npos ? host : host.substr(dot + 1);
  if (last.substr(0, 2) == "0x")
    return all_of(last.substr(2), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  return !last.empty() && all_of(last, is_digit);
}

// The usual spelling of an address, or "" if `text` is not an address.
std::string canonical_address(int family, std::string_view text) {
  unsigned char bytes[sizeof(in6_addr)];
  char spelled[INET6_ADDRSTRLEN];
  if (::inet_pton(family, std::string(text).c_str(), bytes) != 1 ||
      !::inet_ntop(family, bytes, spelled, sizeof spelled))
    return {};
  return spelled;
}

// Why `host` is no host name, or "".
std::string_view name_fault(std::string_view host) {
  if (host.size() > longest_name)
    return "is longer than the 253 bytes of a domain name";
  while (true) {
    const auto dot = host.find('.');
    const auto label = host.substr(0, dot);
    if (label.empty())
      return "has an empty label (two dots in a row, or a dot at the start)";
    if (label.size() > longest_label)
      return "has a label of more than 63 bytes";
    if (label.find('*') != std::string_view::npos)
      return "has a wildcard in a place where none is accepted: only \"*.example.com\" is, "
             "for every sub-domain";
    for (const char c : label)
      if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
        return "is not a domain pattern: accepted are \"example.com\" and \"*.example.com\", "
               "each with an optional \":port\"";
    if (label.front() == '-' || label.back() == '-')
      return "has a label that starts or ends with a hyphen";
    if (label == "xn--" || label.substr(0, 5) == "xn---")
      return "has a malformed xn-- label";
    if (dot == std::string_view::npos)
      return {};
    host.remove_prefix(dot + 1);
  }
}

// Why the proxy never connects to what the pattern covers, or "": an entry that
// cannot do what it says is better refused than believed.
std::string unreachable(std::string_view host, domain_pattern::kind_type kind) {
  const auto label = special_use_label(host);
  if (label == "localhost")
    return "is this host, which the proxy never dials: open the port with "
           "network.allowedLocalPorts";
  if (!label.empty())
    return "is never a public host (\"." + std::string(label) +
           "\"), and the proxy connects to no such name: reach the host by another one";
  if (kind == domain_pattern::kind_type::exact && host.find('.') == std::string_view::npos)
    return "is a single label, which the proxy never connects to: write the host's name "
           "with its domain";
  return {};
}

result<std::uint16_t> parse_port(std::string_view pattern, std::string_view digits) {
  unsigned value = 0;
  if (digits.empty() || digits.size() > 5 || !all_of(digits, is_digit) || digits.front() == '0')
    return refused(pattern, "has a bad port: accepted is a number from 1 to 65535");
  for (const char c : digits)
    value = value * 10 + static_cast<unsigned>(c - '0');
  if (value > 65535)
    return refused(pattern, "has a bad port: accepted is a number from 1 to 65535");
  return static_cast<std::uint16_t>(value);
}

result<domain_pattern> address_pattern(std::string_view pattern, int family, std::string_view host,
                                       domain_list list) {
  if (list == domain_list::allowed)
    return refused(pattern, "is an IP address, and those are always refused: allow the host by its "
                            "name, or a port of this host with network.allowedLocalPorts");
  const std::string canonical = canonical_address(family, host);
  if (canonical.empty())
    return refused(pattern, "is not an address in its usual spelling (192.0.2.7, [2001:db8::7])");
  if (canonical != host)
    return refused(pattern, "is an unusual spelling of an address: write " + canonical);
  domain_pattern out;
  out.host = canonical;
  return out;
}

} // namespace

bool domain_pattern::matches(std::string_view canonical_host, std::uint16_t to_port) const {
  if (port != 0 && port != to_port)
    return false;
  switch (kind) {
    case kind_type::any:
      return true;
    case kind_type::exact:
      return canonical_host == host;
    case kind_type::subdomains:
      return canonical_host.size() > host.size() + 1 && ends_with(canonical_host, host) &&
             canonical_host[canonical_host.size() - host.size() - 1] == '.';
  }
  return false;
}

std::string domain_pattern::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  std::string out = kind == kind_type::any ? "*" : kind == kind_type::subdomains ? "*." : "";
  out += v6 ? '[' + host + ']' : host;
  if (port != 0)
    out += ':' + std::to_string(port);
  return out;
}

result<domain_pattern> parse_pattern(std::string_view text, domain_list list) {
  const std::string pattern = lower_case(trimmed(text));
  if (pattern.empty())
    return refused(text,
                   "is empty: accepted are \"example.com\" and \"*.example.com\", each with an "
                   "optional \":port\"");
  if (std::any_of(pattern.begin(), pattern.end(), [](char c) { return (c & 0x80) != 0; }))
    return refused(pattern, "has letters that are not ASCII: write the name in its xn-- form");
  if (pattern.find("://") != std::string::npos)
    return refused(pattern, "is a URL: write the host name alone, with an optional \":port\"");

  std::string_view host = pattern;
  std::string_view port_text;
  bool has_port = false;
  bool v6 = false;
  if (host.front() == '[') {
    const auto close = host.find(']');
    if (close == std::string_view::npos || (close + 1 < host.size() && host[close + 1] != ':'))
      return refused(pattern, "has brackets that enclose no IPv6 address");
    has_port = close + 1 < host.size();
    port_text = has_port ? host.substr(close + 2) : std::string_view{};
    host = host.substr(1, close - 1);
    v6 = true;
  } else if (std::count(host.begin(), host.end(), ':') > 1) {
    v6 = true; // without brackets an IPv6 address has no port
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    has_port = true;
    port_text = host.substr(colon + 1);
    host = host.substr(0, colon);
  }

  std::uint16_t port = 0;
  if (has_port) {
    auto parsed = parse_port(pattern, port_text);
    if (!parsed)
      return std::move(parsed).failed();
    port = *parsed;
  }

  domain_pattern out;
  if (host == "*") {
    if (list == domain_list::allowed)
      return refused(pattern, "would allow every host: a bare \"*\" is accepted in "
                              "network.deniedDomains only; name the domains");
    out.kind = domain_pattern::kind_type::any;
    out.port = port;
    return out;
  }
  if (v6) {
    auto address = address_pattern(pattern, AF_INET6, host, list);
    if (address)
      address->port = port;
    return address;
  }
  if (host.substr(0, 2) == "*.") {
    out.kind = domain_pattern::kind_type::subdomains;
    host.remove_prefix(2);
  }
  if (!host.empty() && host.back() == '.')
    host.remove_suffix(1);
  if (const auto fault = name_fault(host); !fault.empty())
    return refused(pattern, fault);
  if (ends_in_number(host)) {
    if (out.kind == domain_pattern::kind_type::subdomains)
      return refused(pattern, "has a wildcard before an address: addresses have no sub-domains");
    auto address = address_pattern(pattern, AF_INET, host, list);
    if (address)
      address->port = port;
    return address;
  }
  if (list == domain_list::allowed)
    if (const auto fault = unreachable(host, out.kind); !fault.empty())
      return refused(pattern, fault);
  out.host = host;
  out.port = port;
  return out;
}

std::string_view special_use_label(std::string_view canonical_host) {
  const auto last = canonical_host.substr(canonical_host.rfind('.') + 1);
  return std::find(special_use.begin(), special_use.end(), last) != special_use.end()
             ? last
             : std::string_view();
}

const domain_pattern* find_match(const std::vector<domain_pattern>& patterns,
                                 std::string_view canonical_host, std::uint16_t port) {
  for (const auto& pattern : patterns)
    if (pattern.matches(canonical_host, port))
      return &pattern;
  return nullptr;
}

} // namespace piorch::config
