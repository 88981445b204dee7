#include "sandbox/sbpl.hpp"

#include "config/text.hpp"

namespace piorch::sandbox::sbpl {

namespace {

void append_both_cases(std::string& out, char letter) {
  const char lower = static_cast<char>(letter | 0x20), upper = static_cast<char>(lower & ~0x20);
  out += {'[', upper, lower, ']'};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Characters that mean themselves in a regular expression and in a #"…" literal.
bool is_itself(char c) {
  return (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '_' || c == ' ' || c == ',' ||
         c == '@' || c == '~' || c == '=' || c == ':' || c == '%' || c == '#' || c == '!' ||
         c == '&' || c == ';' || c == '\'' || c == '<' || c == '>';
}

} // namespace

bool is_plain(std::string_view text) { return config::printable(text, text.size() + 1) == text; }

std::string string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

std::string message(std::string_view text) { return string(config::printable(text, 200)); }

std::string any_case(std::string_view path) {
  static constexpr std::string_view anything = "[^/]+";
  std::string out;
  std::size_t last = 0; // where the last character's expression starts in `out`
  bool wild = false;    // `out` ends in `anything`
  for (const char c : path) {
    const std::size_t start = out.size();
    if (is_letter(c)) {
      append_both_cases(out, c);
    } else if (c == '.') {
      out += "[.]"; // needs no backslash, whose meaning in #"…" is not documented
    } else if (is_itself(c)) {
      out += c;
    } else {
      // Decomposed, an accent is a character after its letter; composed, both
      // are one: the letter before belongs to it.
      const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
      if (beyond_ascii && !wild && last < out.size() && out[last] != '/')
        out.resize(last);
      if (!wild || out.size() < anything.size())
        out += anything;
      wild = true;
      last = out.size();
      continue;
    }
    wild = false;
    last = start;
  }
  return out;
}

std::string fold_case(std::string_view expression) {
  std::string out;
  bool in_brackets = false;
  for (const char c : expression) {
    in_brackets = c == '[' || (in_brackets && c != ']');
    if (is_letter(c) && !in_brackets)
      append_both_cases(out, c);
    else
      out += c;
  }
  return out;
}

std::string regex(std::string_view body, std::string_view tail) {
  std::string out = "(regex #\"^";
  return out.append(body).append(tail).append("\")");
}

} // namespace piorch::sandbox::sbpl
