// The one spelling of a host that rules, approvals and the resolver ever see.
// What a client inside the sandbox wrote (CONNECT target, absolute-form
// authority, SOCKS name) is either turned into a public host name in canonical
// form or refused with the reason; nothing is looked up here. Pure, any thread.
#pragma once

#include "config/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace piorch::sandbox::network {

// Canonical: lower case, no trailing dot, at least two labels, every A-label a
// well-formed one. Made only by the functions below.
struct destination {
  std::string host;
  std::uint16_t port = 0;
};

inline bool operator==(const destination& a, const destination& b) {
  return a.port == b.port && a.host == b.host;
}
inline bool operator!=(const destination& a, const destination& b) { return !(a == b); }
inline bool operator<(const destination& a, const destination& b) {
  return a.host != b.host ? a.host < b.host : a.port < b.port;
}

// "example.org:443"
std::string to_text(const destination&);

// The canonical form, or why this is not a public host name. The error text is
// safe to show: it never repeats bytes that are not printable ASCII.
result<std::string> canonical_host(std::string_view spelled);

// Decimal 1..65535 without sign, space or leading zero.
result<std::uint16_t> parse_port(std::string_view digits);

// "host:port"; the port is required unless a default is given (not 0).
// User-info is refused: it exists only to make one host look like another.
result<destination> parse_authority(std::string_view authority, std::uint16_t default_port = 0);

// What an authority that is refused names, for reports: the host as it is spelled, without
// brackets; 0 when there is no port and no default.
std::pair<std::string_view, std::uint16_t> spelled_parts(std::string_view authority,
                                                         std::uint16_t default_port = 0);

// What a person may be shown of bytes that came out of the sandbox: printable
// ASCII as it is, the rest as \xNN, cut after 80 bytes.
std::string printable(std::string_view bytes);

} // namespace piorch::sandbox::network
