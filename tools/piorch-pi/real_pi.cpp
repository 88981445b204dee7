#include "tools/piorch-pi/real_pi.hpp"

#include "config/text.hpp"
#include "ipc/json_text.hpp"
#include "sandbox/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace piorch::pi {

using nlohmann::json;
using sandbox::environment;

namespace {

constexpr std::size_t prefix_words = 16;

error no_pi(const std::string& why) {
  return {failure::usage, why + "; piorch's Pi package sets it"};
}

} // namespace

result<std::vector<std::string>> find_real_pi(const environment& given) {
  std::vector<std::string> out{std::string(given.value(binary_variable))};
  if (out[0].empty())
    return no_pi(std::string(binary_variable) + " does not name the real Pi");
  if (out[0].front() != '/' || ::access(out[0].c_str(), X_OK) != 0 || sandbox::is_directory(out[0]))
    return no_pi(std::string(binary_variable) + " is " + config::printable(out[0], 300) +
                 ", which is no absolute path of a program");
  if (const auto self = sandbox::canonical("/proc/self/exe"); self == sandbox::canonical(out[0]))
    return no_pi(std::string(binary_variable) + " is piorch-pi itself");
  const std::string prefix(given.value(prefix_variable));
  if (prefix.empty())
    return out;
  json words;
  ipc::parse_json(prefix, words);
  const bool good = words.is_array() && words.size() <= prefix_words &&
                    std::all_of(words.begin(), words.end(), [](const json& word) {
                      return word.is_string() &&
                             word.get_ref<const std::string&>().find('\0') == std::string::npos;
                    });
  if (!good)
    return no_pi(std::string(prefix_variable) + " is no JSON array of at most 16 strings");
  for (const json& word : words)
    out.push_back(word.get<std::string>());
  return out;
}

error become(const std::vector<std::string>& real, const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const auto* part : {&real, &arguments})
    for (const std::string& word : *part)
      words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words[0], words.data());
  return {failure::fault,
          "cannot run " + config::printable(real[0], 300) + ": " + std::strerror(errno)};
}

result<std::string> temp_dir_of(const environment& given) {
  std::string named = "/tmp"; // Node's order
  for (const char* name : {"TEMP", "TMP", "TMPDIR"})
    if (!given.value(name).empty())
      named = given.value(name);
  const auto real = named.front() == '/' ? sandbox::canonical(named) : std::nullopt;
  if (!real || *real == "/" || !sandbox::is_directory(*real))
    return error{failure::usage, "the directory for temporary files, " +
                                     config::printable(named, 300) +
                                     ", is no absolute path of a directory; set TMPDIR to one"};
  return *real;
}

std::vector<std::string> list(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(separator, at), text.size());
    if (const auto part = config::trimmed(text.substr(at, end - at)); !part.empty())
      out.emplace_back(part);
    at = end + 1;
  }
  return out;
}

} // namespace piorch::pi
