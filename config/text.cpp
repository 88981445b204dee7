#include "config/text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace piorch::config {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct character {
  std::uint32_t point = 0;
  std::size_t length = 0; // 0: no well-formed UTF-8
};

character first_of(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80)
    return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < length)
    return {};
  std::uint32_t point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {};
    point = (point << 6) | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
    return {};
  return {point, length};
}

bool is_control(std::uint32_t point) {
  const bool bidirectional = point == 0x061c || point == 0x200e || point == 0x200f ||
                             (point >= 0x202a && point <= 0x202e) ||
                             (point >= 0x2066 && point <= 0x2069);
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || bidirectional;
}

// Length of the visible character at the start of `s`; 0 if there is none.
std::size_t visible_sequence(std::string_view s) {
  const auto [point, length] = first_of(s);
  const bool hidden = is_control(point) || (point >= 0x200b && point <= 0x200d) ||
                      point == 0x2028 || point == 0x2029 || point == 0xfeff;
  return hidden ? 0 : length;
}

void append_escaped(std::string& out, unsigned char c) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[c >> 4];
  out += digits[c & 15];
}

} // namespace

std::size_t control_length(std::string_view text) {
  const auto [point, length] = first_of(text);
  return is_control(point) ? length : 0;
}

std::string printable(std::string_view text, std::size_t limit_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= limit_bytes) {
      out += "…";
      break;
    }
    if (const std::size_t length = visible_sequence(text.substr(i))) {
      out += text.substr(i, length);
      i += length;
    } else {
      append_escaped(out, static_cast<unsigned char>(text[i++]));
    }
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t limit_bytes) {
  return '"' + printable(text, limit_bytes) + '"';
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  static constexpr std::size_t longest = 64; // no name of ours is longer; bounds the work
  if (name.size() > longest)
    return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    // Optimal string alignment: a swap of neighbours is one mistake.
    std::vector<std::size_t> before, previous(candidate.size() + 1), row(candidate.size() + 1);
    std::iota(previous.begin(), previous.end(), std::size_t{0});
    for (std::size_t i = 1; i <= name.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const char a = lower(name[i - 1]), b = lower(candidate[j - 1]);
        row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b ? 1u : 0u)});
        if (i > 1 && j > 1 && a == lower(candidate[j - 2]) && b == lower(name[i - 2]))
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
      before = previous;
      previous = row;
    }
    if (previous.back() < best_distance) {
      best_distance = previous.back();
      best = candidate;
    }
  }
  return best;
}

std::string_view trimmed(std::string_view text) {
  static constexpr std::string_view white = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(white);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

} // namespace piorch::config
