#include "sandbox/guard/git_file.hpp"

#include "sandbox/guard/components.hpp"

namespace piorch::sandbox::guard {

namespace {

constexpr std::string_view key = "gitdir: ";

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

std::string_view path_in_pointer(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text.substr(0, text.find('\0'));
}

std::string_view path_in_git_file(std::string_view text) {
  if (text.substr(0, key.size()) != key)
    return {};
  text.remove_prefix(key.size());
  return path_in_pointer(text);
}

bool read_git_file(std::string_view text, std::string_view directory, git_file& out) {
  out = {};
  const std::string_view whole = text;
  text = path_in_git_file(whole);
  // Git drops more behind the path than it writes there.
  if (text.empty() || whole.find_first_not_of('\n', key.size() + text.size()) != whole.npos ||
      directory.empty() || directory[0] != '/')
    return false;
  const bool relative = text[0] != '/';
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
  // One line, as Git writes it; for Git a line end within is part of the path.
  if (!named || out.path.find_first_of(std::string_view("\0\n\r", 3)) != out.path.npos)
    return false;
  if (!only_up_and_in || out.levels == 0 || out.below < 2)
    out.levels = 0;
  return true;
}

} // namespace piorch::sandbox::guard
