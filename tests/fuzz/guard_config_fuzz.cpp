// fuzz: sandbox
// A Git configuration's text, old and new divided by the first zero byte.
#include "sandbox/guard/git_keys.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
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
  const std::string refused = first_refused(old, fresh);
  PIORCH_REQUIRE(readable || !refused.empty());
  if (readable) {
    PIORCH_REQUIRE(first_refused(fresh, fresh).empty());
    bool harmless = true;
    for (const auto& e : entries)
      harmless = harmless && is_harmless(e) && e.key != "bare"; // which depends on `old`
    PIORCH_REQUIRE(!harmless || refused.empty());
    // Nothing but the work tree is left out.
    std::vector<config_entry> left;
    PIORCH_REQUIRE(
        parse_config(without_work_tree(old, std::string(fresh), "/w/.git/modules/m"), left));
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const auto& e) { return e.name() == "core.worktree"; }),
                  entries.end());
    left.erase(std::remove_if(left.begin(), left.end(),
                              [](const auto& e) { return e.name() == "core.worktree"; }),
               left.end());
    PIORCH_REQUIRE(std::equal(
        entries.begin(), entries.end(), left.begin(), left.end(),
        [](const auto& a, const auto& b) { return a.name() == b.name() && a.value == b.value; }));
  }
  return 0;
}
