// fuzz: config
// The first byte chooses the list, the rest is the pattern.
#include "config/patterns.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::config;

namespace {

bool one_printable_line(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return false;
  return !text.empty() && text.size() < 1000;
}

void check(const domain_pattern& pattern, domain_list list) {
  const auto again = parse_pattern(pattern.text(), list);
  PIORCH_REQUIRE(again && *again == pattern);

  const std::uint16_t port = pattern.port != 0 ? pattern.port : std::uint16_t{443};
  const auto other = static_cast<std::uint16_t>(port ^ 1);
  const std::string& host = pattern.host;
  switch (pattern.kind) {
    case domain_pattern::kind_type::exact:
      PIORCH_REQUIRE(pattern.matches(host, port));
      PIORCH_REQUIRE(!pattern.matches("x." + host, port));
      PIORCH_REQUIRE(!pattern.matches("x" + host, port));
      break;
    case domain_pattern::kind_type::subdomains:
      PIORCH_REQUIRE(!pattern.matches(host, port));
      PIORCH_REQUIRE(pattern.matches("x." + host, port));
      PIORCH_REQUIRE(!pattern.matches("x" + host, port));
      PIORCH_REQUIRE(!pattern.matches("." + host, port));
      break;
    case domain_pattern::kind_type::any:
      PIORCH_REQUIRE(list == domain_list::denied);
      PIORCH_REQUIRE(pattern.matches("x.example", port));
      break;
  }
  if (pattern.port != 0)
    PIORCH_REQUIRE(!pattern.matches(host, other) && !pattern.matches("x." + host, other));
  for (const char c : host)
    PIORCH_REQUIRE(c == '.' || c == '-' || c == '_' || c == ':' || (c >= '0' && c <= '9') ||
                   (c >= 'a' && c <= 'z'));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0)
    return 0;
  const auto list = bytes[0] % 2 == 0 ? domain_list::allowed : domain_list::denied;
  const auto pattern = parse_pattern({reinterpret_cast<const char*>(bytes + 1), size - 1}, list);
  if (pattern)
    check(*pattern, list);
  else
    PIORCH_REQUIRE(one_printable_line(pattern.failed().text));
  return 0;
}
