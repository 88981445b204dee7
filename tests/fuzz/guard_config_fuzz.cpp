// fuzz: sandbox
// A Git configuration's text, old and new divided by the first zero byte.
#include "sandbox/guard/git_keys.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::sandbox::guard;

namespace {

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\b')
      out += "\\b";
    else
      out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  }
  return out + "\"";
}

// What was read, written in the plainest form, must read the same.
void check_round_trip(const std::vector<config_entry>& entries) {
  std::string plain;
  for (const auto& e : entries) {
    std::string sub;
    for (const char c : e.subsection)
      sub += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    plain += "[" + e.section + (sub.empty() ? "" : " \"" + sub + "\"") + "]\n\t" + e.key +
             (e.has_value ? " = " + quoted(e.value) : "") + "\n";
  }
  std::vector<config_entry> again;
  if (plain.size() > config_bytes_at_most)
    return;
  PIORCH_REQUIRE(parse_config(plain, again));
  PIORCH_REQUIRE(again.size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    PIORCH_REQUIRE(again[i].name() == entries[i].name() && again[i].value == entries[i].value &&
                   again[i].has_value == entries[i].has_value);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto zero = text.find('\0');
  const std::string_view old = text.substr(0, zero);
  const std::string_view fresh = zero == std::string_view::npos ? old : text.substr(zero + 1);
  std::vector<config_entry> entries;
  const bool readable = parse_config(fresh, entries);
  if (readable)
    check_round_trip(entries);
  const std::string refused = first_refused(old, fresh, "/w/.git/modules/m");
  PIORCH_REQUIRE(readable || !refused.empty());
  if (readable) {
    PIORCH_REQUIRE(first_refused(fresh, fresh, "/w/.git").empty());
    bool harmless = true;
    for (const auto& e : entries)
      harmless = harmless && is_harmless(e, "/w/.git/modules/m");
    PIORCH_REQUIRE(!harmless || refused.empty());
  }
  return 0;
}
