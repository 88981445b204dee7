#include "sandbox/guard/git_file_places.hpp"

#include "sandbox/guard/components.hpp"
#include "sandbox/guard/git_dir.hpp"
#include "sandbox/guard/git_file.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/walk.hpp"

#include <algorithm>
#include <climits>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr std::size_t bases_at_most = 256; // each is a descriptor
constexpr const char* not_as_git_writes = "git file: not as git writes it";
constexpr const char* leads_outside =
    "git file: it leads out of what this sandbox may write, or through a link";
constexpr const char* too_many = "git file: too many of them in one command";
constexpr const char* too_long = "git file: its path has more than 64 names, or is too long";

bool may_write(int directory) { return read_only(directory) == 0; }

// From `base` as far as there is something: only directories that may be written and that the host
// has there too. Another mount is a directory of the sandbox's own, unless it is a `.git`, which is
// mounted where it is to keep it there.
bool leads_through_directories(int base, const std::vector<std::string>& names) {
  unique_fd at(open_path(base, ".", O_DIRECTORY));
  bool in_dot_git = false;
  for (const auto& name : names) {
    in_dot_git = in_dot_git || is_dot_git(name);
    if (at.get() < 0 || !may_write(at.get()))
      return false;
    unique_fd next(open_path(at.get(), name.c_str(), O_DIRECTORY | O_NOFOLLOW));
    if (next.get() == -ENOENT)
      return true;
    if (next.get() >= 0 && !in_dot_git && !same_mount(base, next.get()))
      return false;
    at = std::move(next);
  }
  return at.get() >= 0 && may_write(at.get());
}

int open_below(int base, const std::vector<std::string>& names) {
  unique_fd at(open_path(base, ".", O_DIRECTORY));
  for (auto name = names.begin(); name != names.end() && at.get() >= 0; ++name)
    at.reset(open_path(at.get(), name->c_str(), O_DIRECTORY | O_NOFOLLOW));
  return at.release();
}

int open_above(int directory, std::size_t levels) {
  unique_fd at(open_path(directory, ".", O_DIRECTORY));
  for (; levels > 0 && at.get() >= 0; --levels)
    at.reset(open_path(at.get(), "..", O_DIRECTORY));
  return at.release();
}

} // namespace

git_file_places::git_file_places(int proc, const std::vector<std::string>& trees) : proc_(proc) {
  for (const auto& path : trees) {
    unique_fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    // As the kernel spells it: the question will be so, too.
    if (fd)
      trees_.push_back({path_of(proc, fd.get()), std::move(fd)});
  }
}

const git_file_places::tree* git_file_places::tree_of(std::string_view path) const {
  const tree* found = nullptr;
  for (const tree& t : trees_)
    if ((path == t.path ||
         (path.substr(0, t.path.size()) == t.path && path[t.path.size()] == '/')) &&
        (!found || t.path.size() > found->path.size()))
      found = &t;
  return found;
}

int git_file_places::check(int directory, std::string& text, std::string& refused) {
  const std::string path = path_of(proc_, directory);
  git_file read;
  refused = not_as_git_writes;
  if (path.empty() || path[0] != '/') // nobody knows where that is
    return -EACCES;
  refused.clear();
  if (text.empty() || !tree_of(path)) // empty: Git takes it for broken, and nothing else
    return 0;
  refused = not_as_git_writes;
  if (!read_git_file(text, path, read))
    return -EACCES;
  refused = too_long;
  if (read.path.size() >= PATH_MAX || read.levels > git_file_names_at_most ||
      components(read.path).size() > git_file_names_at_most)
    return -EACCES;
  refused = leads_outside;
  const tree* in = tree_of(read.path);
  if (!in)
    return -EACCES;
  const auto down = components(std::string_view(read.path).substr(in->path.size()));
  if (!leads_through_directories(in->directory.get(), down))
    return -EACCES;
  bool kept = false;
  if (read.levels > 0) {
    const unique_fd above(open_above(directory, read.levels));
    auto own = components(path);
    own.erase(own.begin(),
              own.end() - static_cast<std::ptrdiff_t>(std::min(own.size(), read.levels)));
    kept = above.get() >= 0 && keep(above.get(), own, true);
    // It may have been moved meanwhile, until it was kept.
    const unique_fd below(kept ? open_below(above.get(), own) : -1);
    if (kept && !(below.get() >= 0 && same_inode(below.get(), directory) &&
                  path_of(proc_, directory) == path))
      return -EACCES;
  } else {
    const auto end = std::find_if(down.begin(), down.end(), is_dot_git);
    kept = keep(in->directory.get(), {down.begin(), end}, false);
  }
  if (!kept) {
    refused = too_many;
    return -EACCES;
  }
  // Once more: what was begun before is done now, and nothing else comes.
  if (!leads_through_directories(in->directory.get(), down))
    return -EACCES;
  text = read.text();
  refused.clear();
  return 0;
}

// A descriptor for all ways that begin there, or -1.
int git_file_places::base_of(int directory) {
  for (const tree& t : trees_)
    if (same_inode(t.directory.get(), directory))
      return t.directory.get();
  for (const unique_fd& known : bases_)
    if (same_inode(known.get(), directory))
      return known.get();
  unique_fd fd(bases_.size() < bases_at_most ? open_path(directory, ".", O_DIRECTORY) : -1);
  if (fd.get() < 0)
    return -1;
  bases_.push_back(std::move(fd));
  return bases_.back().get();
}

bool git_file_places::keep(int directory, std::vector<std::string> names, bool stays) {
  if (names.empty())
    return true;
  ::pthread_rwlock_wrlock(&gate_);
  const int base = base_of(directory);
  bool kept = std::any_of(ways_.begin(), ways_.end(), [&](const way& w) {
    return w.base == base && w.stays == stays && w.names == names;
  });
  if (!kept && base >= 0 && watched_ + names.size() <= watched_names_at_most) {
    watched_ += names.size();
    ways_.push_back({base, std::move(names), stays});
    kept = true;
    any_ = true;
  }
  ::pthread_rwlock_unlock(&gate_);
  return kept;
}

bool git_file_places::is_on_a_way(int parent, std::string_view name, bool stays) const {
  const std::string low = folded(name);
  const bool odd = is_odd(name); // some file systems take it for a plainer one
  return std::any_of(ways_.begin(), ways_.end(), [&](const way& w) {
    const auto is_it = [&](const std::string& one) { return odd || folded(one) == low; };
    if (w.stays != stays || std::none_of(w.names.begin(), w.names.end(), is_it))
      return false;
    unique_fd own;
    int here = w.base;
    for (const auto& one : w.names) {
      if (is_it(one) && same_inode(here, parent) &&
          (!odd || folds_names(parent) || folded(one) == low))
        return true;
      unique_fd next(open_path(here, one.c_str(), O_DIRECTORY | O_NOFOLLOW));
      if (next.get() < 0) { // nobody may look (chmod by the command): it may go on all the same
        const int e = next.get();
        return e != -ENOENT && e != -ENOTDIR && e != -ELOOP;
      }
      own = std::move(next);
      here = own.get();
    }
    return false;
  });
}

bool git_file_places::may_arrive(int parent, std::string_view name) const {
  return !any_ || !is_on_a_way(parent, name, false);
}

bool git_file_places::may_leave(int parent, std::string_view name) const {
  return !any_ || !is_on_a_way(parent, name, true);
}

} // namespace piorch::sandbox::guard
