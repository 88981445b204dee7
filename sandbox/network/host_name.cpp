// Attack named: one spelling for the rule, another for the resolver. Every byte
// that is not a letter, digit, hyphen, underscore or dot ends the attempt here,
// before anything compares, shows or resolves the name.
#include "sandbox/network/host_name.hpp"

#include "config/patterns.hpp"
#include "sandbox/network/punycode.hpp"

#include <algorithm>
#include <vector>

namespace piorch::sandbox::network {
namespace {

constexpr std::size_t name_max = 253; // RFC 1035: 255 octets on the wire
constexpr std::size_t label_max = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

error refused(std::string why) { return {failure::usage, std::move(why)}; }

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> out;
  for (;;) {
    auto dot = name.find('.');
    out.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos)
      return out;
    name.remove_prefix(dot + 1);
  }
}

// As browsers judge it: a name whose last label is a number is an IPv4 address
// in some spelling (127.1, 0x7f.1, 017700000001, 2130706433), never a host.
bool ends_in_a_number(std::string_view last) {
  if (std::all_of(last.begin(), last.end(), is_digit))
    return true;
  return last.size() >= 2 && last[0] == '0' && last[1] == 'x' &&
         std::all_of(last.begin() + 2, last.end(), is_hex);
}

// Brackets or colons and nothing that has no business in an address.
bool looks_like_ipv6(std::string_view s) {
  return (s.front() == '[' || s.find(':') != std::string_view::npos) &&
         std::all_of(s.begin(), s.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

} // namespace

std::string printable(std::string_view bytes) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes.substr(0, 80)) {
    auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += hex[u >> 4];
      out += hex[u & 15];
    }
  }
  if (bytes.size() > 80)
    out += "...";
  return out;
}

std::string to_text(const destination& d) { return d.host + ':' + std::to_string(d.port); }

result<std::string> canonical_host(std::string_view spelled) {
  if (spelled.empty())
    return refused("the host name is empty");
  if (looks_like_ipv6(spelled))
    return refused("'" + printable(spelled) + "' is an IP address; only host names can be allowed");
  if (spelled.back() == '.')
    spelled.remove_suffix(1); // the root: the same name in the DNS
  if (spelled.size() > name_max)
    return refused("the host name is longer than 253 characters");

  std::string name;
  name.reserve(spelled.size());
  for (char c : spelled) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    if (!(is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.'))
      return refused("'" + printable(spelled) +
                     "' is not a host name: only letters, digits, '-', '_' and '.' can be in one "
                     "(write international names in their xn-- form)");
    name += c;
  }

  const auto labels = labels_of(name);
  for (auto label : labels) {
    if (label.empty())
      return refused("'" + printable(spelled) + "' is not a host name: it has an empty label");
    if (label.size() > label_max)
      return refused("'" + printable(spelled) + "' has a label longer than 63 characters");
    if (label.front() == '-' || label.back() == '-')
      return refused("'" + name + "' is not a host name: a label begins or ends with '-'");
    if (label.substr(0, 4) == "xn--" && !is_valid_a_label(label))
      return refused("'" + name + "' is not a host name: '" + std::string(label) +
                     "' is not a valid IDNA label");
  }
  if (ends_in_a_number(labels.back()))
    return refused("'" + name + "' is an IP address; only host names can be allowed");
  if (const auto label = config::special_use_label(name); !label.empty())
    return refused("'" + name + "' is a special-use name ('." + std::string(label) +
                   "'), not a public host name");
  if (labels.size() < 2)
    return refused("'" + name + "' is a single label, not a public host name");
  return name;
}

result<std::uint16_t> parse_port(std::string_view digits) {
  if (digits.empty() || digits.size() > 5 || digits.front() == '0' ||
      !std::all_of(digits.begin(), digits.end(), is_digit))
    return refused("'" + printable(digits) + "' is not a port (1 to 65535)");
  unsigned value = 0;
  for (char c : digits)
    value = value * 10 + static_cast<unsigned>(c - '0');
  if (value > 65535)
    return refused("'" + std::string(digits) + "' is not a port (1 to 65535)");
  return static_cast<std::uint16_t>(value);
}

std::pair<std::string_view, std::uint16_t> spelled_parts(std::string_view authority,
                                                         std::uint16_t default_port) {
  auto host = authority;
  auto port = default_port;
  const auto colon = authority.rfind(':');
  const bool bracketed = !authority.empty() && authority.front() == '[';
  // Without brackets the last group of an IPv6 address would pass for one.
  if (colon != std::string_view::npos && (bracketed || authority.find(':') == colon))
    if (const auto number = parse_port(authority.substr(colon + 1))) {
      host = authority.substr(0, colon);
      port = *number;
    }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {host, port};
}

result<destination> parse_authority(std::string_view authority, std::uint16_t default_port) {
  if (authority.find('@') != std::string_view::npos)
    return refused("user information in a destination is not accepted");
  std::string_view host = authority;
  std::string_view port;
  if (!authority.empty() && authority.front() == '[') {
    auto close = authority.find(']');
    host = authority.substr(0, close == std::string_view::npos ? close : close + 1);
  } else if (auto colon = authority.rfind(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    if (port.empty())
      return refused("'" + printable(authority) + "' has no port after the colon");
  }
  auto name = canonical_host(host); // first: "IP address" says more than "no port"
  if (!name)
    return name.failed();
  if (port.empty()) {
    if (default_port == 0)
      return refused("'" + *name + "' has no port");
    return destination{std::move(*name), default_port};
  }
  auto number = parse_port(port);
  if (!number)
    return number.failed();
  return destination{std::move(*name), *number};
}

} // namespace piorch::sandbox::network
