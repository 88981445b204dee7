#include "sandbox/network/socks_message.hpp"

#include <arpa/inet.h>

namespace piorch::sandbox::network::socks {
namespace {

std::uint8_t byte(std::string_view s, std::size_t i) { return static_cast<std::uint8_t>(s[i]); }

} // namespace

greeting parse_greeting(std::string_view bytes) {
  greeting g;
  if (bytes.empty())
    return g;
  if (byte(bytes, 0) == 4) {
    g.what = step::socks4;
    return g;
  }
  if (byte(bytes, 0) != 5) {
    g.what = step::malformed;
    return g;
  }
  if (bytes.size() < 2)
    return g;
  const std::size_t count = byte(bytes, 1);
  if (count == 0) {
    g.what = step::malformed;
    return g;
  }
  if (bytes.size() < 2 + count)
    return g;
  g.what = step::done;
  g.used = 2 + count;
  g.offers_no_auth = bytes.substr(2, count).find('\0') != std::string_view::npos;
  return g;
}

request parse_request(std::string_view bytes) {
  request r;
  auto bad = [&](reply why) {
    r.what = step::malformed;
    r.failure = why;
    return r;
  };
  if (!bytes.empty() && byte(bytes, 0) != 5)
    return bad(reply::general_failure);
  if (bytes.size() >= 3 && byte(bytes, 2) != 0)
    return bad(reply::general_failure);
  if (bytes.size() < 5)
    return r;
  std::size_t length = 0;
  const std::size_t start = byte(bytes, 3) == 3 ? 5 : 4;
  switch (byte(bytes, 3)) {
    case 1:
      length = 4;
      break;
    case 3:
      length = byte(bytes, 4);
      break;
    case 4:
      length = 16;
      break;
    default:
      return bad(reply::address_type_not_supported);
  }
  if (bytes.size() < start + length + 2)
    return r;
  const auto address = bytes.substr(start, length);
  r.what = step::done;
  r.used = start + length + 2;
  r.command_code = byte(bytes, 1);
  r.port = static_cast<std::uint16_t>((byte(bytes, start + length) << 8) |
                                      byte(bytes, start + length + 1));
  if (byte(bytes, 3) == 3) {
    r.host = std::string(address);
  } else {
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(length == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
    r.host = text;
    r.is_address = true;
  }
  return r;
}

std::string choose_method(bool no_auth) { return {'\x05', no_auth ? '\x00' : '\xff'}; }

std::string answer(reply code) {
  // The bound address is of no use to a client of ours, and this host's own
  // addresses are none of its business: 0.0.0.0:0.
  return {'\x05', static_cast<char>(code), '\x00', '\x01', '\0', '\0', '\0', '\0', '\0', '\0'};
}

std::string refuse_socks4() { return {'\x00', '\x5b', '\0', '\0', '\0', '\0', '\0', '\0'}; }

} // namespace piorch::sandbox::network::socks
