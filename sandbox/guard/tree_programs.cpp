#include "sandbox/guard/tree_programs.hpp"

#include <algorithm>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at)
      out.push_back(folded(path.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

// Is there such a path below the directory, or may there be one: a link on the way, or a directory
// that cannot be looked into?
bool leads_to(int directory, const std::string& path) {
  unique_fd own;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    const int here = own ? own.get() : directory;
    struct stat s {};
    if (::fstatat(here, part.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
      return errno != ENOENT && errno != ENOTDIR;
    if (S_ISLNK(s.st_mode) || end == path.size())
      return true;
    if (!S_ISDIR(s.st_mode))
      return false;
    unique_fd next(open_path(here, part.c_str(), O_NOFOLLOW | O_DIRECTORY));
    if (next.get() < 0)
      return next.get() != -ENOENT && next.get() != -ENOTDIR;
    own = std::move(next);
    at = end + 1;
  }
  return true;
}

// What is there in a Git directory has rules of its own (git_dir).
bool is_in_hooks(const std::vector<std::string>& parts) { return parts.front() == "hooks"; }

// How many of these components are those of `all` from `at` on.
std::size_t common(const std::vector<std::string>& all, std::size_t at,
                   const std::vector<std::string>& wanted) {
  std::size_t n = 0;
  while (n < wanted.size() && at + n < all.size() && all[at + n] == wanted[n])
    ++n;
  return n;
}

} // namespace

tree_programs::tree_programs(const std::vector<rule>& all) {
  for (const rule& one : all) {
    if (one.kind != rule_kind::in_trees && one.kind != rule_kind::in_linked_trees)
      continue;
    program p;
    p.path = one.path.substr(std::min(one.path.size(), one.base_bytes + 1));
    p.parts = parts_of(p.path);
    p.linked = one.kind == rule_kind::in_linked_trees;
    programs_.push_back(p);
    if (p.parts.size() > 1 && p.parts.back() == "_") { // husky's calls the hooks beside it
      p.only_with = p.path;
      p.path.erase(p.path.rfind('/'));
      p.parts.pop_back();
      programs_.push_back(std::move(p));
    }
  }
}

tree_programs::tree tree_programs::tree_at(int directory) {
  struct stat s {};
  if (is_git_dir(directory))
    return tree::git_dir;
  if (::fstatat(directory, ".git", &s, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || errno == ENOTDIR ? tree::none : tree::linked;
  return S_ISDIR(s.st_mode) ? tree::own : tree::linked;
}

bool tree_programs::concern(std::string_view path, std::string_view name) const {
  if (programs_.empty())
    return false;
  if (is_dot_git(name))
    return true;
  const std::string whole = folded(path) + '/' + folded(name) + '/';
  return std::any_of(programs_.begin(), programs_.end(), [&](const program& p) {
    return !p.parts.empty() && whole.find('/' + p.parts.front() + '/') != std::string::npos;
  });
}

bool tree_programs::has_one(int directory) const {
  return std::any_of(programs_.begin(), programs_.end(), [&](const program& p) {
    return !p.path.empty() && p.only_with.empty() && !is_in_hooks(p.parts) &&
           leads_to(directory, p.path);
  });
}

const char* tree_programs::broken_by_git(int directory, tree when_absent) const {
  const tree there = tree_at(directory);
  const bool own = (there == tree::none ? when_absent : there) == tree::own;
  for (const program& p : programs_)
    if (p.only_with.empty() && !(p.linked && own) && leads_to(directory, p.path))
      return tree_with_programs;
  return nullptr;
}

const char* tree_programs::broken_by(int parent, std::string_view path, std::string_view name,
                                     deed what) const {
  if (what == deed::move_away || !concern(path, name))
    return nullptr;
  if (is_dot_git(name)) {
    if (what == deed::write || what == deed::link_from)
      return nullptr;
    // What is moved here may bring settings of its own.
    return what == deed::move_here
               ? (has_one(parent) ? tree_with_programs : nullptr)
               : broken_by_git(parent, what == deed::make_directory ? tree::own : tree::linked);
  }
  auto all = parts_of(path);
  all.push_back(folded(name));
  for (const program& p : programs_)
    for (std::size_t at = 0; !p.parts.empty() && at < all.size(); ++at) {
      const auto n = common(all, at, p.parts);
      const bool whole = n == p.parts.size();
      if (n == 0 || (!whole && at + n < all.size()))
        continue;
      std::string top = "."; // of the tree that this would be, from the parent
      for (std::size_t up = at + 1; up < all.size(); ++up)
        top += "/..";
      unique_fd directory(open_path(parent, top.c_str(), O_DIRECTORY));
      const tree kind = directory.get() < 0 ? tree::linked : tree_at(directory.get());
      if (kind == tree::none || (p.linked && kind == tree::own) ||
          (kind == tree::git_dir && is_in_hooks(p.parts)))
        continue;
      if (directory.get() < 0 || (whole && p.only_with.empty()) ||
          leads_to(directory.get(), p.only_with.empty() ? p.path : p.only_with))
        return run_in_trees;
    }
  return nullptr;
}

} // namespace piorch::sandbox::guard
