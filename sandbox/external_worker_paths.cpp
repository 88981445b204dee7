#include "sandbox/external_worker_examiner.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

bool has_dots(const std::string& path) {
  const auto parts = parts_of(path);
  return std::any_of(parts.begin(), parts.end(),
                     [](const std::string& p) { return p.empty() || p == "." || p == ".."; });
}

} // namespace

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-_.";
  return !name.empty() && name.front() != '.' && name.size() <= 255 &&
         name.find_first_not_of(plain) == std::string_view::npos;
}

std::vector<std::string> parts_of(const std::string& relative) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < relative.size();) {
    const auto end = std::min(relative.find('/', at), relative.size());
    out.push_back(relative.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::optional<std::string> canonical_way(const std::string& path) {
  if (const auto real = canonical(path))
    return real;
  if (has_dots(path.substr(1)))
    return std::nullopt;
  std::string up = parent_of(path);
  while (up != "/" && !exists(up))
    up = parent_of(up);
  const auto real = canonical(up);
  return real ? std::optional(join(*real, relative_to(path, up))) : std::nullopt;
}

bool make_way(const std::string& path) {
  if (is_directory(path))
    return true;
  return (exists(parent_of(path)) || make_way(parent_of(path))) &&
         (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) && is_directory(path);
}

bool is_own(const std::string& path) {
  const auto st = look(path);
  return st && S_ISDIR(st->st_mode) && st->st_uid == ::geteuid();
}

} // namespace piorch::sandbox
