#include "sandbox/guard/git_paths.hpp"

namespace piorch::sandbox::guard {

namespace {

// No file system has longer names; it also bounds the work for each of many paths that share a
// beginning.
constexpr std::size_t component_at_most = 1024;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The code points that HFS+ does not compare: U+200C..F, U+202A..E, U+206A..F, U+FEFF.
bool ignored(std::string_view three) {
  const auto last = three.size() < 3 ? 0 : static_cast<unsigned char>(three[2]);
  const auto two = three.substr(0, 2);
  return (two == "\xe2\x80" &&
          ((last >= 0x8c && last <= 0x8f) || (last >= 0xaa && last <= 0xae))) ||
         (two == "\xe2\x81" && last >= 0xaa && last <= 0xaf) || (two == "\xef\xbb" && last == 0xbf);
}

path_kind kind_of_component(std::string_view name) {
  if (name == ".." || is_taken_for_dot_git(name))
    return path_kind::outside;
  return name == "." || name.size() > component_at_most ? path_kind::strange : path_kind::plain;
}

} // namespace

bool is_taken_for_dot_git(std::string_view component) {
  if (component.size() > component_at_most)
    return false;
  std::size_t at = 0;
  const auto next = [&] {
    while (ignored(component.substr(at, 3)))
      at += 3;
    return at < component.size() ? lower(component[at++]) : '\0';
  };
  const char first = next();
  if (first != '.' && first != 'g')
    return false;
  for (const char c : std::string_view(first == '.' ? "git" : "it~1"))
    if (next() != c)
      return false;
  for (;;) {
    const char c = next();
    if (c == '\0' || c == ':')
      return true;
    if (c != '.' && c != ' ')
      return false;
  }
}

path_kind kind_of_path(std::string_view path, std::size_t known) {
  if (!path.empty() && path[0] == '/')
    return path_kind::outside;
  // Of the component that goes on behind the known bytes, or, if that is too long already, of a
  // part of it that is, too.
  std::size_t start = known;
  while (start > 0 && known - start <= component_at_most && path[start - 1] != '/' &&
         path[start - 1] != '\\')
    --start;
  auto kind = path_kind::plain;
  for (std::size_t at = known;; ++at) {
    const char c = at < path.size() ? path[at] : '\0';
    if (c != '\0' && c != '/' && c != '\\')
      continue;
    const auto found = kind_of_component(path.substr(start, at - start));
    if (found == path_kind::outside)
      return found;
    // An empty one between backslashes is only part of a name where they divide nothing.
    const bool empty = at == start && c != '\\' && (start == 0 || path[start - 1] == '/');
    if (found == path_kind::strange || empty)
      kind = path_kind::strange;
    if (c == '\0')
      return at < path.size() ? path_kind::strange : kind; // C ends a path here
    start = at + 1;
  }
}

} // namespace piorch::sandbox::guard
