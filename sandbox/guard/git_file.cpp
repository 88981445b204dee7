#include "sandbox/guard/git_file.hpp"

namespace piorch::sandbox::guard {

namespace {

constexpr std::string_view key = "gitdir: ";

// The next component of what is left; empty ones count as nothing, as for the kernel.
std::string_view take_component(std::string_view& rest) {
  while (!rest.empty() && rest[0] == '/')
    rest.remove_prefix(1);
  const auto component = rest.substr(0, rest.find('/'));
  rest.remove_prefix(component.size());
  return component;
}

} // namespace

std::string git_file::text() const {
  if (levels == 0)
    return std::string(key) + path + '\n';
  std::size_t at = path.size(); // of the slash before the `.git` that it goes down to
  for (std::size_t n = below; n > 0; --n)
    at = path.rfind('/', at - 1);
  std::string out(key);
  for (std::size_t n = 0; n < levels; ++n)
    out += "../";
  return out + path.substr(at + 1) + '\n';
}

bool read_git_file(std::string_view text, std::string_view directory, git_file& out) {
  out = {};
  if (text.substr(0, key.size()) != key || directory.empty() || directory[0] != '/')
    return false;
  text.remove_prefix(key.size());
  while (!text.empty() && text.back() == '\n')
    text.remove_suffix(1);
  const bool relative = !text.empty() && text[0] != '/';
  if (relative)
    while (!directory.empty() && directory.back() == '/')
      directory.remove_suffix(1);
  out.path = relative ? std::string(directory) : std::string();
  bool named = false, only_up_and_in = relative;
  for (std::string_view rest = text;;) {
    const auto component = take_component(rest);
    if (component.empty())
      break;
    if (component == ".")
      continue;
    if (component == "..") {
      // Behind a name it would depend on what that name is.
      if (named || !relative || out.path.empty())
        return false;
      out.path.erase(out.path.rfind('/'));
      ++out.levels;
      continue;
    }
    only_up_and_in = only_up_and_in && (named || component == ".git");
    named = true;
    ++out.below;
    (out.path += '/') += component;
  }
  // Git takes the whole rest of the file, but drops '\r' and '\n' at its end.
  if (!named || out.path.find_first_of(std::string_view("\0\n\r", 3)) != out.path.npos)
    return false;
  if (!only_up_and_in || out.levels == 0 || out.below < 2)
    out.levels = 0;
  return true;
}

} // namespace piorch::sandbox::guard
