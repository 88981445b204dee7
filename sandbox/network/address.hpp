// Which addresses the broker may dial for a sandbox. A name that was allowed or
// approved proves nothing about where it points: what a name server answers is
// judged here, unwrapped from every IPv6 disguise, before anything is dialled.
// Pure; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <string_view>
#include <vector>

namespace piorch::sandbox::network {

enum class address_class {
  open,      // public, documentation ranges included (contract, section 8)
  intranet,  // RFC 1918, ULA, CGNAT, benchmarking: only for statically allowed names
  forbidden, // never dialled
};

struct address_verdict {
  address_class kind = address_class::forbidden;
  std::string_view what; // "loopback", "cloud metadata", ... a literal, for the refusal
};

// The IPv4 address that an IPv6 one carries, if it carries one; else the address itself.
boost::asio::ip::address unwrapped(const boost::asio::ip::address& address);

// `own` are the addresses of this host (host_routes.hpp); they are never dialled, whatever their
// range. Wrapped IPv4 addresses (mapped, compatible, NAT64, 6to4, Teredo, ISATAP)
// are judged by what is inside, and can only get worse by being wrapped.
address_verdict judge(const boost::asio::ip::address& address,
                      const std::vector<boost::asio::ip::address>& own);

} // namespace piorch::sandbox::network
