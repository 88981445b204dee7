#include "sandbox/network/punycode.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace piorch::sandbox::network {
namespace {

// Parameters of RFC 3492, section 5.
constexpr std::uint32_t base = 36, t_min = 1, t_max = 26, skew = 38, damp = 700;
constexpr std::uint32_t initial_bias = 72, initial_n = 0x80;

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, bool first) {
  delta = first ? delta / damp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > ((base - t_min) * t_max) / 2; k += base)
    delta /= base - t_min;
  return k + (base - t_min + 1) * delta / (delta + skew);
}

std::uint32_t threshold(std::uint32_t k, std::uint32_t bias) {
  return k <= bias ? t_min : k >= bias + t_max ? t_max : k - bias;
}

int digit_of(char c) {
  if (c >= 'a' && c <= 'z')
    return c - 'a';
  if (c >= '0' && c <= '9')
    return c - '0' + 26;
  return -1;
}

char char_of(std::uint32_t digit) {
  return static_cast<char>(digit < 26 ? 'a' + digit : '0' + (digit - 26));
}

std::string encode(const std::u32string& points) {
  std::string out;
  for (char32_t c : points)
    if (c < 0x80)
      out += static_cast<char>(c);
  const auto basic = static_cast<std::uint32_t>(out.size());
  std::uint32_t handled = basic;
  if (basic > 0)
    out += '-';
  std::uint32_t n = initial_n, delta = 0, bias = initial_bias;
  while (handled < points.size()) {
    std::uint32_t next = 0x110000;
    for (char32_t c : points)
      if (c >= n)
        next = std::min(next, static_cast<std::uint32_t>(c));
    delta += (next - n) * (handled + 1); // labels of at most 63 bytes cannot overflow this
    n = next;
    for (char32_t c : points) {
      if (c < n)
        ++delta;
      if (c != n)
        continue;
      std::uint32_t q = delta;
      for (std::uint32_t k = base;; k += base) {
        const auto t = threshold(k, bias);
        if (q < t)
          break;
        out += char_of(t + (q - t) % (base - t));
        q = (q - t) / (base - t);
      }
      out += char_of(q);
      bias = adapt(delta, handled + 1, handled == basic);
      delta = 0;
      ++handled;
    }
    ++delta;
    ++n;
  }
  return out;
}

// What no IDNA 2008 label holds. A table of all of Unicode would be exact; these
// ranges are the ones that make a name look like another one or break in parts.
bool is_forbidden(char32_t c) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 17> ranges = {{
      {0x0080, 0x00b6},
      {0x00b8, 0x00de},
      {0x034f, 0x034f},
      {0x061c, 0x061c},
      {0x115f, 0x1160},
      {0x17b4, 0x17b5},
      {0x180b, 0x180f},
      {0x1e9e, 0x1e9e},
      {0x2000, 0x200b},
      {0x200e, 0x2bff},
      {0x3000, 0x3004},
      {0x3008, 0x3029},
      {0xd800, 0xf8ff},
      {0xfe00, 0xfe1f},
      {0xfe30, 0xfe6f},
      {0xfeff, 0xfeff},
      {0xff00, 0xffff},
  }};
  if (c > 0x10ffff || (c >= 0xe0000 && c <= 0x10ffff))
    return true;
  if (c < 0x80)
    return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const auto& r) { return c >= r.first && c <= r.second; });
}

} // namespace

std::u32string decode_a_label(std::string_view label) {
  std::string_view in = label.substr(4);
  std::u32string out;
  if (auto dash = in.rfind('-'); dash != std::string_view::npos) {
    for (char c : in.substr(0, dash))
      out += static_cast<char32_t>(static_cast<unsigned char>(c));
    in.remove_prefix(dash + 1);
  }
  std::uint64_t n = initial_n, i = 0; // wider than 32 bits, so one check per step is enough
  std::uint32_t bias = initial_bias;
  while (!in.empty()) {
    const auto before = i;
    std::uint64_t weight = 1;
    for (std::uint32_t k = base;; k += base) {
      if (in.empty())
        return {};
      const int digit = digit_of(in.front());
      in.remove_prefix(1);
      if (digit < 0)
        return {};
      i += static_cast<std::uint64_t>(digit) * weight;
      if (i > 0x7fffffff)
        return {};
      const auto t = threshold(k, bias);
      if (static_cast<std::uint32_t>(digit) < t)
        break;
      weight *= base - t;
    }
    const auto points = static_cast<std::uint32_t>(out.size() + 1);
    bias = adapt(static_cast<std::uint32_t>(i - before), points, before == 0);
    n += i / points;
    i %= points;
    if (n > 0x10ffff)
      return {};
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), static_cast<char32_t>(n));
    ++i;
  }
  return out;
}

bool is_valid_a_label(std::string_view label) {
  const auto points = decode_a_label(label);
  if (points.empty() || points.front() == U'-' || points.back() == U'-')
    return false;
  if (std::all_of(points.begin(), points.end(), [](char32_t c) { return c < 0x80; }))
    return false; // plain ASCII in disguise
  if (std::any_of(points.begin(), points.end(), is_forbidden))
    return false;
  return encode(points) == label.substr(4);
}

} // namespace piorch::sandbox::network
