#include "orchestration/host_access.hpp"

#include "config/text.hpp"

#include <algorithm>

namespace piorch::orchestration {

namespace {

constexpr std::size_t tail_bytes = 64 << 10;
constexpr std::string_view blanks = " \t";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

} // namespace

std::string in_words(const std::vector<std::string>& argv) {
  std::string out;
  for (const auto& word : argv) {
    out += out.empty() ? "" : " ";
    if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word)
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

std::optional<std::string> preflight_prefix(const config::settings& s, std::string_view command) {
  if (s.host_ipc.mode != config::host_ipc_mode::ask)
    return std::nullopt;
  command.remove_prefix(std::min(command.find_first_not_of(blanks), command.size()));
  for (const auto& prefix : s.host_ipc.preflight_command_prefixes)
    if (command.substr(0, prefix.size()) == prefix &&
        (command.size() == prefix.size() ||
         blanks.find(command[prefix.size()]) != std::string_view::npos))
      return prefix;
  return std::nullopt;
}

void socket_refusal::take(std::string_view bytes) {
  if (bytes.size() >= tail_bytes)
    tail_.clear();
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), tail_bytes));
  if (tail_.size() > 2 * tail_bytes)
    tail_.erase(0, tail_.size() - tail_bytes);
}

bool socket_refusal::seen() const {
  const auto text = config::lower_case(tail_);
  const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
  return has("operation not permitted") && (has("socket") || has("connect") || has("ipc"));
}

} // namespace piorch::orchestration
