// fuzz: sandbox
// The first bytes of a SOCKS connection.
#include "sandbox/network/socks_message.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::sandbox::network;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto greeting = socks::parse_greeting(text);
  if (greeting.what == socks::step::done) {
    PIORCH_REQUIRE(greeting.used >= 3 && greeting.used <= text.size());
    PIORCH_REQUIRE(socks::parse_greeting(text.substr(0, greeting.used - 1)).what ==
                   socks::step::need_more);
    text.remove_prefix(greeting.used);
  }
  const auto request = socks::parse_request(text);
  if (request.what == socks::step::done) {
    PIORCH_REQUIRE(request.used >= 7 && request.used <= text.size());
    PIORCH_REQUIRE(request.host.size() <= 255);
    PIORCH_REQUIRE(socks::parse_request(text.substr(0, request.used - 1)).what ==
                   socks::step::need_more);
  } else if (request.what == socks::step::need_more) {
    PIORCH_REQUIRE(text.size() < 262); // a bound on what is waited for
  }
  return 0;
}
