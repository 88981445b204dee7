// SOCKS5 (RFC 1928) as far as a proxy without authentication needs it, and
// enough of SOCKS4 to refuse it properly. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace piorch::sandbox::network::socks {

enum class reply : std::uint8_t {
  granted = 0,
  general_failure = 1,
  not_allowed = 2,
  network_unreachable = 3,
  host_unreachable = 4,
  connection_refused = 5,
  ttl_expired = 6,
  command_not_supported = 7,
  address_type_not_supported = 8,
};

enum class step {
  need_more,
  done,
  socks4,    // answer refuse_socks4(), close
  malformed, // close, or answer general_failure after the greeting
};

// The client's greeting: which methods it offers.
struct greeting {
  step what = step::need_more;
  std::size_t used = 0;
  bool offers_no_auth = false;
};
greeting parse_greeting(std::string_view bytes);

enum class command : std::uint8_t { connect = 1, bind = 2, udp_associate = 3 };

struct request {
  step what = step::need_more;
  std::size_t used = 0;
  reply failure = reply::general_failure; // of `malformed`
  std::uint8_t command_code = 0;
  std::string host; // a name as spelled, or the text of an address
  bool is_address = false;
  std::uint16_t port = 0;
};
request parse_request(std::string_view bytes);

std::string choose_method(bool no_auth);
std::string answer(reply);
std::string refuse_socks4();

} // namespace piorch::sandbox::network::socks
