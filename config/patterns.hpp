// The domain patterns of network.allowedDomains and network.deniedDomains
// (contract, sections 6 and 8), and which names a pattern can allow at all. Pure;
// any thread.
//
//   example.com         that name and no other
//   *.example.com       every strict sub-domain of it, not example.com itself
//   example.com:8443    either form may be bound to one port
//   *, *:25             every name; in the denied list only
//   192.0.2.7, [::1]    addresses; in the denied list only, as they are always
//                       refused
#pragma once

#include "config/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::config {

enum class domain_list { allowed, denied };

struct domain_pattern {
  enum class kind_type { exact, subdomains, any };

  kind_type kind = kind_type::exact;
  std::string host; // lower case, no trailing dot; of `subdomains` the part after "*."; of `any` ""
  std::uint16_t port = 0; // 0: every port

  // Does this entry speak about the host? `canonical_host` is in lower case,
  // without trailing dot, in A-label form; an IPv6 address without brackets.
  bool matches(std::string_view canonical_host, std::uint16_t to_port) const;

  // The pattern as it would be written in the file.
  std::string text() const;

  friend bool operator==(const domain_pattern& a, const domain_pattern& b) {
    return a.kind == b.kind && a.port == b.port && a.host == b.host;
  }
  friend bool operator!=(const domain_pattern& a, const domain_pattern& b) { return !(a == b); }
};

// Reads one pattern. White space around it, upper case and one trailing dot are
// tolerated and normalised away. Everything else that is not one of the forms
// above is failure::configuration_invalid with one line that says what is
// accepted; the line does not name the file or the key.
result<domain_pattern> parse_pattern(std::string_view text, domain_list list);

// The last label of the name, when names below it are by agreement never public
// hosts ("local", "internal", …); else "". The proxy refuses such names unasked.
std::string_view special_use_label(std::string_view canonical_host);

// The first entry that speaks about the host, or nullptr.
const domain_pattern* find_match(const std::vector<domain_pattern>& patterns,
                                 std::string_view canonical_host, std::uint16_t port);

} // namespace piorch::config
