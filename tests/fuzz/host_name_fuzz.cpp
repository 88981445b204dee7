// fuzz: sandbox
// Any spelling of a destination.
#include "sandbox/network/host_name.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::sandbox::network;

namespace {

void check(const std::string& host) {
  PIORCH_REQUIRE(!host.empty() && host.size() <= 253 && host.back() != '.');
  PIORCH_REQUIRE(host.find('.') != std::string::npos);
  for (const char c : host)
    PIORCH_REQUIRE(c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') ||
                   (c >= 'a' && c <= 'z'));
  const auto again = canonical_host(host);
  PIORCH_REQUIRE(again && *again == host);
  const auto last = host.substr(host.rfind('.') + 1);
  PIORCH_REQUIRE(last.find_first_not_of("0123456789") != std::string::npos);
  PIORCH_REQUIRE(last != "localhost" && last != "local" && last != "internal" && last != "arpa");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto host = canonical_host(text);
  if (host)
    check(*host);
  else
    for (const char c : host.failed().text)
      PIORCH_REQUIRE(c >= 0x20 && c < 0x7f);
  if (const auto to = parse_authority(text, 80)) {
    check(to->host);
    PIORCH_REQUIRE(to->port != 0);
    const auto again = parse_authority(to_text(*to));
    PIORCH_REQUIRE(again && *again == *to);
  }
  return 0;
}
