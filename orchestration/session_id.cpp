#include "orchestration/session_id.hpp"

#include "config/limits.hpp"

#include <algorithm>

namespace piorch::orchestration {

namespace {

constexpr std::string_view hex = "0123456789abcdef";
constexpr std::size_t id_digits = 32;
constexpr std::size_t shortest_prefix = 4;

bool all_hex(std::string_view text) noexcept {
  return text.find_first_not_of(hex) == std::string_view::npos;
}

bool letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

} // namespace

std::string make_session_id(instant now, const std::array<std::uint8_t, 10>& random) {
  const auto ms = static_cast<std::uint64_t>(now.time_since_epoch().count());
  std::string id;
  id.reserve(id_digits);
  for (int shift = 44; shift >= 0; shift -= 4)
    id += hex[ms >> shift & 15];
  for (auto byte : random) {
    id += hex[byte >> 4];
    id += hex[byte & 15];
  }
  return id;
}

bool is_session_id(std::string_view text) noexcept {
  return text.size() == id_digits && all_hex(text);
}

result<done> check_session_name(std::string_view name) {
  const auto refuse = [](const char* why) {
    return error{failure::usage, std::string("not a session name: ") + why};
  };
  if (name.empty())
    return refuse("it is empty");
  if (name.size() > limits::session_name_bytes)
    return refuse("longer than 64 characters");
  if (!letter_or_digit(name.front()))
    return refuse("it must begin with a letter or a digit");
  if (!std::all_of(name.begin(), name.end(),
                   [](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; }))
    return refuse("only letters, digits, '.', '_' and '-' may occur");
  if (name.size() >= shortest_prefix && name.size() <= id_digits && all_hex(name) &&
      name.find_first_of("0123456789") != std::string_view::npos)
    return refuse("it reads as the beginning of a session id");
  return done{};
}

result<std::string> find_session(const std::vector<session_entry>& sessions,
                                 std::string_view reference) {
  const session_entry* by_name = nullptr;
  for (const auto& s : sessions) {
    if (s.id == reference)
      return s.id;
    if (!s.name.empty() && s.name == reference) {
      // Live before ended, then the youngest: ids sort by time.
      if (!by_name || std::pair(s.live, s.id) > std::pair(by_name->live, by_name->id))
        by_name = &s;
    }
  }
  if (by_name)
    return by_name->id;
  const session_entry* by_prefix = nullptr;
  if (reference.size() >= shortest_prefix && all_hex(reference)) {
    for (const auto& s : sessions) {
      if (s.id.compare(0, reference.size(), reference) != 0)
        continue;
      if (by_prefix)
        return error{failure::unknown_session, "more than one session begins with " +
                                                   std::string(reference) + "; give more digits"};
      by_prefix = &s;
    }
  }
  if (by_prefix)
    return by_prefix->id;
  return error{failure::unknown_session, "no session " + std::string(reference.substr(0, 80))};
}

} // namespace piorch::orchestration
