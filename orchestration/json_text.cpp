#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

bool is_modest(std::string_view text, std::size_t max_depth, std::size_t max_values) noexcept {
  std::size_t depth = 0, values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        break;
      case '[':
      case '{':
        if (++depth > max_depth)
          return false;
        ++values;
        break;
      case ']':
      case '}':
        depth -= depth > 0;
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > max_values)
      return false;
  }
  return true;
}

std::size_t escaped_bytes(char c) noexcept {
  switch (c) {
    case '"':
    case '\\':
    case '\b':
    case '\f':
    case '\n':
    case '\r':
    case '\t':
      return 2;
    default:
      // A byte that turns out not to be UTF-8 becomes U+FFFD, three bytes; to
      // count that way for all of them would cut plain Chinese text at a third.
      return static_cast<unsigned char>(c) < 0x20 ? 6 : 1;
  }
}

// The code unit of an escape "\\uXXXX" that begins at `at`, or -1.
int escaped_unit(std::string_view text, std::size_t at) noexcept {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u')
    return -1;
  int unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0)
      return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

// JavaScript cuts strings between the halves of a surrogate pair and writes the
// half as an escape, which a strict parser refuses: one cut emoji in a tool's
// output would lose the whole line. Nothing when there is no such half.
std::optional<std::string> without_lone_surrogates(std::string_view text) {
  std::optional<std::string> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\')
      continue;
    const int unit = escaped_unit(text, i);
    if (unit < 0xd800 || unit > 0xdfff) {
      ++i; // the escaped character is not the beginning of another escape
      continue;
    }
    const int next = escaped_unit(text, i + 6);
    if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
      i += 11;
      continue;
    }
    if (!out)
      out.emplace(text);
    out->replace(i, 6, "\\ufffd"); // same length: positions stay
    i += 5;
  }
  return out;
}

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string missing(std::size_t bytes) { return "[" + std::to_string(bytes) + " bytes left out]"; }

} // namespace

std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

std::optional<json> parse(std::string_view text, std::size_t depth, std::size_t values) {
  if (!is_modest(text, depth, values))
    return {};
  auto j = json::parse(text.begin(), text.end(), nullptr, false);
  if (!j.is_discarded())
    return j;
  if (auto repaired = without_lone_surrogates(text)) {
    j = json::parse(*repaired, nullptr, false);
    if (!j.is_discarded())
      return j;
  }
  return {};
}

const json& member(const json& j, const char* key) {
  static const json none;
  if (!j.is_object())
    return none;
  const auto i = j.find(key);
  return i == j.end() ? none : *i;
}

std::string string_at(const json& j, const char* key) {
  const auto& m = member(j, key);
  return m.is_string() ? m.get<std::string>() : std::string();
}

bool bool_at(const json& j, const char* key) {
  const auto& m = member(j, key);
  return m.is_boolean() && m.get<bool>();
}

double number_at(const json& j, const char* key) {
  const auto& m = member(j, key);
  const double v = m.is_number() ? m.get<double>() : 0;
  return std::isfinite(v) && v > 0 ? v : 0;
}

std::uint64_t count_at(const json& j, const char* key) {
  const double v = number_at(j, key);
  return v < 9e15 ? static_cast<std::uint64_t>(v) : std::uint64_t{9'000'000'000'000'000};
}

std::size_t escaped_bytes(std::string_view text) noexcept {
  std::size_t n = 0;
  for (char c : text)
    n += escaped_bytes(c);
  return n;
}

std::string bounded(std::string_view text, std::size_t limit) {
  constexpr std::size_t note = 48; // room for the note itself
  std::size_t used = 0, cut = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (used + note <= limit && !continues(text[i]))
      cut = i;
    used += escaped_bytes(text[i]);
    if (used > limit)
      return std::string(text.substr(0, cut)) + " " + missing(text.size() - cut);
  }
  return std::string(text);
}

std::string bounded_tail(std::string_view text, std::size_t limit) {
  constexpr std::size_t note = 48;
  std::size_t used = 0, cut = text.size();
  for (std::size_t i = text.size(); i-- > 0;) {
    used += escaped_bytes(text[i]);
    if (used > limit)
      return missing(cut) + " " + std::string(text.substr(cut));
    if (used + note <= limit && !continues(text[i]))
      cut = i;
  }
  return std::string(text);
}

} // namespace piorch::orchestration
