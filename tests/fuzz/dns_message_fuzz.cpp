// fuzz: sandbox
// An answer of a name server to one known question.
#include "sandbox/network/dns_message.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::sandbox::network;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (auto type : {dns::record::a, dns::record::aaaa}) {
    const auto r = dns::read_response(text, 7, "example.org", type);
    PIORCH_REQUIRE(r.addresses.empty() || r.what == dns::response::kind::addresses);
    PIORCH_REQUIRE(r.ttl.count() >= 0);
    for (const auto& a : r.addresses)
      PIORCH_REQUIRE(a.is_v6() == (type == dns::record::aaaa));
  }
  return 0;
}
