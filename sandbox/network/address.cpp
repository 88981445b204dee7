#include "sandbox/network/address.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace piorch::sandbox::network {
namespace {

namespace ip = boost::asio::ip;
using v6_bytes = ip::address_v6::bytes_type;

struct range_v4 {
  std::uint32_t net;
  unsigned bits;
  address_class kind;
  std::string_view what;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return (a << 24) | (b << 16) | (c << 8) | d;
}

constexpr auto no = address_class::forbidden;
constexpr auto inside = address_class::intranet;

// First match counts. The metadata services of the clouds come first: some lie
// in ranges that an intranet host may have.
constexpr std::array<range_v4, 17> ranges_v4 = {{
    {v4(169, 254, 169, 254), 32, no, "cloud metadata"},
    {v4(169, 254, 170, 2), 32, no, "cloud metadata"},   // AWS container credentials
    {v4(100, 100, 100, 200), 32, no, "cloud metadata"}, // Alibaba
    {v4(168, 63, 129, 16), 32, no, "cloud metadata"},   // Azure, a public-looking address
    {v4(192, 0, 0, 192), 32, no, "cloud metadata"},     // Oracle
    {v4(0, 0, 0, 0), 8, no, "unspecified"},             // 0.0.0.0 is loopback to connect(2)
    {v4(127, 0, 0, 0), 8, no, "loopback"},
    {v4(169, 254, 0, 0), 16, no, "link-local"},
    {v4(255, 255, 255, 255), 32, no, "broadcast"},
    {v4(224, 0, 0, 0), 4, no, "multicast"},
    {v4(240, 0, 0, 0), 4, no, "reserved"},
    {v4(10, 0, 0, 0), 8, inside, "private"},
    {v4(172, 16, 0, 0), 12, inside, "private"},
    {v4(192, 168, 0, 0), 16, inside, "private"},
    {v4(100, 64, 0, 0), 10, inside, "shared (carrier-grade NAT)"},
    {v4(198, 18, 0, 0), 15, inside, "benchmarking"},
    {v4(192, 0, 0, 0), 24, no, "protocol assignments"},
}};

address_verdict judge_v4(std::uint32_t a) {
  for (const auto& r : ranges_v4)
    if (((a ^ r.net) >> (32 - r.bits)) == 0)
      return {r.kind, r.what};
  return {address_class::open, "public"};
}

struct range_v6 {
  v6_bytes net;
  unsigned bits;
  address_class kind;
  std::string_view what;
};

constexpr std::array<range_v6, 9> ranges_v6 = {{
    {{0xfd, 0x00, 0x0e, 0xc2}, 32, no, "cloud metadata"}, // AWS: metadata, credentials, time
    {{0xfd, 0x20, 0x00, 0xce}, 32, no, "cloud metadata"}, // Google
    {{0xfd, 0x00, 0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x42},
     128,
     no,
     "cloud metadata"}, // Scaleway
    {{0xfe, 0x80}, 10, no, "link-local"},
    {{0xfe, 0xc0}, 10, no, "site-local (deprecated)"},
    {{0xff}, 8, no, "multicast"},
    {{0xfc}, 7, inside, "private (ULA)"},
    {{0x01, 0x00}, 64, no, "discard-only"},
    {{0x5f, 0x00}, 16, no, "segment routing"},
}};

bool in_prefix(const v6_bytes& a, const v6_bytes& net, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), net.begin()))
    return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((a[whole] ^ net[whole]) >> (8 - rest)) == 0;
}

std::uint32_t four(const v6_bytes& b, std::size_t at) {
  return v4(b[at], b[at + 1], b[at + 2], b[at + 3]);
}

// The IPv4 address a packet to this IPv6 address ends up at, if it is of a kind
// that carries one.
std::optional<std::uint32_t> wrapped_v4(const v6_bytes& b) {
  static constexpr v6_bytes zero{};
  static constexpr v6_bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr v6_bytes translated{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}; // RFC 2765
  static constexpr v6_bytes nat64{0x00, 0x64, 0xff, 0x9b};
  static constexpr v6_bytes nat64_local{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
  static constexpr v6_bytes sixtofour{0x20, 0x02};
  static constexpr v6_bytes teredo{0x20, 0x01, 0x00, 0x00};
  if (in_prefix(b, mapped, 96) || in_prefix(b, zero, 96) || in_prefix(b, translated, 96) ||
      in_prefix(b, nat64, 96) || in_prefix(b, nat64_local, 48))
    return four(b, 12);
  if (in_prefix(b, sixtofour, 16))
    return four(b, 2);
  if (in_prefix(b, teredo, 32))
    return ~four(b, 12);
  // ISATAP: any prefix, interface identifier [02]00:5efe:a.b.c.d
  if ((b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe)
    return four(b, 12);
  return std::nullopt;
}

address_verdict worse(address_verdict a, address_verdict b) {
  return static_cast<int>(b.kind) > static_cast<int>(a.kind) ? b : a;
}

address_verdict judge_v6(const v6_bytes& b) {
  if (b == v6_bytes{})
    return {no, "unspecified"};
  if (b == ip::address_v6::loopback().to_bytes())
    return {no, "loopback"};
  address_verdict out{address_class::open, "public"};
  for (const auto& r : ranges_v6)
    if (in_prefix(b, r.net, r.bits)) {
      out = {r.kind, r.what};
      break;
    }
  // A local-use NAT64 prefix has one of four lengths (RFC 8215, RFC 6052), each
  // with the IPv4 bits in another place: the worst reading counts. Readings in
  // 0.0.0.0/8 are the zeroes of another length.
  static constexpr v6_bytes nat64_local{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
  if (in_prefix(b, nat64_local, 48))
    for (auto reading :
         {v4(b[6], b[7], b[9], b[10]), v4(b[7], b[9], b[10], b[11]), v4(b[9], b[10], b[11], b[12])})
      if (reading >= v4(1, 0, 0, 0))
        out = worse(out, judge_v4(reading));
  if (auto inner = wrapped_v4(b))
    out = worse(out, judge_v4(*inner));
  return out;
}

bool same_host(const ip::address& a, const ip::address& b) {
  if (a.is_v6() && b.is_v6()) // a scope id does not make another host
    return a.to_v6().to_bytes() == b.to_v6().to_bytes();
  return a == b;
}

} // namespace

ip::address unwrapped(const ip::address& a) {
  if (a.is_v6())
    if (auto inner = wrapped_v4(a.to_v6().to_bytes()); inner && *inner > 1)
      return ip::address_v4(*inner);
  return a;
}

address_verdict judge(const ip::address& address, const std::vector<ip::address>& own) {
  const auto verdict =
      address.is_v4() ? judge_v4(address.to_v4().to_uint()) : judge_v6(address.to_v6().to_bytes());
  if (verdict.kind == no)
    return verdict;
  const auto inner = unwrapped(address);
  for (const auto& mine : own)
    if (same_host(mine, address) || same_host(mine, inner))
      return {no, "an address of this host"};
  return verdict;
}

} // namespace piorch::sandbox::network
