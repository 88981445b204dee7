#include "ipc/base64.hpp"

#include <array>
#include <cstdint>

namespace piorch::ipc {

namespace {
constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xff;

constexpr std::array<std::uint8_t, 256> make_digits() {
  std::array<std::uint8_t, 256> digits{};
  for (auto& d : digits)
    d = no_digit;
  for (std::uint8_t i = 0; i < 64; ++i)
    digits[static_cast<unsigned char>(alphabet[i])] = i;
  return digits;
}
constexpr auto digits = make_digits();
} // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + start;
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t v = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    *to++ = alphabet[v >> 18];
    *to++ = alphabet[v >> 12 & 63];
    *to++ = alphabet[v >> 6 & 63];
    *to++ = alphabet[v & 63];
  }
  if (const std::size_t rest = bytes.size() - i; rest > 0) {
    const std::uint32_t v = at(i) << 16 | (rest == 2 ? at(i + 1) << 8 : 0u);
    *to++ = alphabet[v >> 18];
    *to++ = alphabet[v >> 12 & 63];
    *to++ = rest == 2 ? alphabet[v >> 6 & 63] : '=';
    *to++ = '=';
  }
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t pad = 0;
    if (last && text[i + 3] == '=')
      pad = text[i + 2] == '=' ? 2 : 1;
    std::uint32_t v = 0;
    for (std::size_t k = 0; k < 4 - pad; ++k) {
      const std::uint8_t d = digits[static_cast<unsigned char>(text[i + k])];
      if (d == no_digit)
        return std::nullopt;
      v |= static_cast<std::uint32_t>(d) << (18 - 6 * k);
    }
    if ((pad == 1 && (v & 0xff) != 0) || (pad == 2 && (v & 0xffff) != 0))
      return std::nullopt; // bits behind the last byte: not canonical
    out += static_cast<char>(v >> 16);
    if (pad < 2)
      out += static_cast<char>(v >> 8 & 0xff);
    if (pad < 1)
      out += static_cast<char>(v & 0xff);
  }
  return out;
}

} // namespace piorch::ipc
