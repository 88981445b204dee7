// fuzz: config
// A whole configuration file.
#include "config/settings.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::config;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto parsed = parse_settings({reinterpret_cast<const char*>(bytes), size}, "config.json");
  if (!parsed) {
    const auto& text = parsed.failed().text;
    PIORCH_REQUIRE(parsed.failed().code == piorch::failure::configuration_invalid);
    PIORCH_REQUIRE(text.rfind("config.json: ", 0) == 0 && text.size() < 1000);
    for (const char c : text)
      PIORCH_REQUIRE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    return 0;
  }
  for (const auto& path : parsed->filesystem.additional_allow_read)
    PIORCH_REQUIRE(path[0] == '/' && path.find('\0') == std::string::npos);
  for (const auto& pattern : parsed->network.allowed_domains)
    PIORCH_REQUIRE(pattern.kind != domain_pattern::kind_type::any);
  PIORCH_REQUIRE(parsed->approvals.timeout.count() >= 1 &&
                 parsed->approvals.timeout <= piorch::limits::approval_timeout_max);
  PIORCH_REQUIRE(parsed->limits.processes > 0 && parsed->limits.memory_mib > 0);
  // What is written back means the same.
  const std::string text = settings_json(*parsed);
  const auto again = parse_settings(text, "config.json");
  PIORCH_REQUIRE(again && settings_json(*again) == text);
  return 0;
}
