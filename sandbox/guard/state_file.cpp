#include "sandbox/guard/state_file.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/components.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/entries.hpp"
#include "sandbox/guard/git_file.hpp"
#include "sandbox/guard/git_index.hpp"
#include "sandbox/guard/git_state.hpp"
#include "sandbox/guard/object_format.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/state_refusal.hpp"

#include <ctime>
#include <sys/stat.h>
#include <vector>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr int deepest = 64;
constexpr int deepest_reference = 24; // looked into by recursion, on a small stack
constexpr std::size_t files_at_most = 200'000;
constexpr std::size_t index_bytes_at_most = std::size_t{256} << 20;
constexpr std::size_t other_bytes_at_most = std::size_t{1} << 20;
constexpr const char* unclear = "it cannot be read, or has another name";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Of a name directly in D or in D/worktrees/NAME. A file system may fold case.
state_file kind_at_the_top(std::string_view name) {
  const std::string low = folded(name);
  if (low == "merge_rr")
    return state_file::conflicts;
  if (is_index_name(low))
    return state_file::index;
  std::string upper(name);
  for (char& c : upper)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return is_ref_path(upper) ? state_file::reference : state_file::none;
}

// Or one of its variants, postimage.1 …
bool is_resolution(std::string_view name) {
  constexpr std::string_view begin = "postimage";
  return name.size() >= begin.size() && folded(name.substr(0, begin.size())) == begin;
}

bool has_component(std::string_view path, std::string_view name) {
  for (auto one = take_component(path); !one.empty(); one = take_component(path))
    if (one.size() == name.size() && folded(one) == name)
      return true;
  return false;
}

// The last `n` components.
std::string_view tail(std::string_view path, int n) {
  std::size_t at = path.size();
  for (; n > 0 && at != std::string_view::npos; --n)
    at = at == 0 ? std::string_view::npos : path.rfind('/', at - 1);
  return at == std::string_view::npos ? path : path.substr(std::min(at + 1, path.size()));
}

// Or that of a linked work tree, wherever it has been moved to: there only is a commondir.
bool is_any_git_dir(int directory) {
  struct stat s {};
  return is_git_dir(directory) || ::fstatat(directory, "commondir", &s, AT_SYMLINK_NOFOLLOW) == 0 ||
         errno != ENOENT;
}

// Calls each(levels) for every Git directory at or above `directory`, the nearest first, until one
// returns true. One that was made inside another takes nothing away from the outer one's
// rules: it can be gone a moment later. True also where it cannot be told.
template <class Each> bool any_git_dir(int directory, const Each& each) {
  unique_fd at(open_path(directory, ".", O_DIRECTORY));
  struct stat here {
  }, up{};
  for (int levels = 0; levels <= deepest; ++levels) {
    if (at.get() < 0 || ::fstat(at.get(), &here) != 0 || (is_any_git_dir(at.get()) && each(levels)))
      return true;
    unique_fd above(open_path(at.get(), "..", O_DIRECTORY));
    if (above.get() < 0 || ::fstat(above.get(), &up) != 0)
      return true;
    if (inode_of(up) == inode_of(here))
      return false;
    at = std::move(above);
  }
  return true;
}

state_file kind_inside(std::string_view path, std::string_view name, int levels) {
  if (levels == 0)
    return kind_at_the_top(name);
  const std::string inside = folded(tail(path, levels));
  const auto first = std::string_view(inside).substr(0, inside.find('/'));
  if (first == "refs")
    return state_file::reference;
  if (first == "rr-cache" && levels == 2 && is_resolution(name))
    return state_file::resolution;
  if (first != "worktrees" || levels == 1)
    return state_file::none;
  return levels == 2                                       ? kind_at_the_top(name)
         : tail(inside, levels - 2).substr(0, 4) == "refs" ? state_file::reference
                                                           : state_file::none;
}

// Which `git worktree add` writes directly before it is used.
bool is_work_trees_head(int parent, std::string_view path, std::string_view name) {
  bool is = false;
  any_git_dir(parent, [&](int levels) {
    is = is || (levels == 2 && folded(tail(path, 2).substr(0, 10)) == "worktrees/");
    return false;
  });
  return is && name == "HEAD";
}

} // namespace

bool may_be_state_file(std::string_view path, std::string_view name) {
  return is_dot_git(name) || kind_at_the_top(name) != state_file::none || path.empty() ||
         is_resolution(name) || has_component(path, "refs");
}

namespace {

// Below `refs`, where a file is a reference: what a Git directory is led by is that there too, for
// one that is made there could be moved out.
bool is_more_than_a_reference(int parent, std::string_view name) {
  switch (git_name_of(name)) {
    case git_name::none:
    case git_name::objects:
    case git_name::refs:
      return false;
    case git_name::common_dir:
    case git_name::worktree_config:
    case git_name::worktree_config_lock:
      return true;
    default:
      return is_git_dir(parent);
  }
}

} // namespace

state_file state_file_of(int parent, std::string_view path, std::string_view name) {
  if (!may_be_state_file(path, name) || is_more_than_a_reference(parent, name))
    return state_file::none;
  if (is_dot_git(name) && !path.empty() && !has_component(path, "refs"))
    return state_file::git_file;
  auto found = state_file::reference; // the strictest, where it cannot be told
  const bool is = any_git_dir(parent, [&](int levels) {
    const auto kind = path.empty() ? state_file::reference : kind_inside(path, name, levels);
    if (kind != state_file::none)
      found = kind;
    return kind != state_file::none;
  });
  return is ? found : is_dot_git(name) ? state_file::git_file : state_file::none;
}

bool holds_state_files(int parent, std::string_view path, std::string_view name) {
  const std::string low = folded(name), above = folded(tail(path, 1));
  const bool is_refs_of_a_work_tree = low == "refs";
  const auto holds = [](const std::string& all) { return all == "worktrees" || all == "rr-cache"; };
  if (!holds(low) && !holds(above) && !is_refs_of_a_work_tree)
    return false;
  return any_git_dir(parent, [&](int levels) {
    return (levels == 0 && holds(low)) || (levels == 1 && holds(above)) ||
           (levels == 2 && is_refs_of_a_work_tree &&
            folded(tail(path, 2).substr(0, 10)) == "worktrees/");
  });
}

verdict judge_state(int parent, std::string_view path, std::string_view name, deed what,
                    const char*& why) {
  why = only_harmless_state;
  if (what != deed::move_away && is_resolution(name) &&
      state_file_of(parent, path, name) == state_file::resolution) {
    why = no_resolution;
    return verdict::refuse;
  }
  switch (what) {
    case deed::make_directory: // below refs
    case deed::move_away:
      return verdict::allow;
    case deed::create:
      if (!is_dot_git(name) && is_work_trees_head(parent, path, name))
        return verdict::decoy;
      return verdict::stage;
    case deed::move_here:
      return verdict::publish;
    case deed::write: // a copy that is put in place later would be read too early
      // Not these: of a .git file see staged_files, and AUTO_MERGE is made anew by each merge.
      if (folded(name) == "auto_merge" ||
          (is_dot_git(name) && state_file_of(parent, path, name) == state_file::git_file))
        return verdict::stage;
      break;
    case deed::make_other:
    case deed::link_from:
      break;
  }
  return verdict::refuse;
}

std::size_t most_bytes(state_file kind) {
  return kind == state_file::index      ? index_bytes_at_most
         : kind == state_file::none     ? config_bytes_at_most
         : kind == state_file::git_file ? git_file_bytes_at_most
                                        : other_bytes_at_most;
}

namespace {

// Of a file that read_regular did not take.
std::string not_read(state_file kind, const struct stat& state) {
  const bool is_long = state.st_size > static_cast<off_t>(most_bytes(kind));
  return refusal(kind, is_long ? too_long : unclear);
}

const char* bad_state(state_file kind, std::string_view text, int directory) {
  switch (kind) {
    case state_file::index:
      return may_read_as_sha256(directory) ? bad_index(text, 32) : bad_index(text);
    case state_file::reference:
      return bad_ref(text);
    case state_file::resolution:
      return no_resolution;
    case state_file::conflicts: // emptied
    case state_file::git_file:
    case state_file::none:
      break;
  }
  return nullptr;
}
} // namespace

int check_state(state_file kind, int directory, git_file_places& places, std::string& text,
                std::string& refused) {
  if (kind == state_file::git_file)
    return places.check(directory, text, refused);
  const char* why = bad_state(kind, text, directory);
  refused = why ? why : "";
  if (kind == state_file::conflicts)
    text.clear();
  return why ? -EACCES : 0;
}

namespace {

int renew(int directory, const char* name, const std::string& text, const struct stat& state) {
  const int e = renew_file(directory, name, text, state);
  // Git compares the time of an index with those of the files in it.
  const timespec times[2] = {state.st_atim, state.st_mtim};
  if (e == 0)
    ::utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
  return e;
}

} // namespace

int publish_state(state_file kind, int from, const char* name, int directory, const char* to,
                  git_file_places& places, std::string& refused) {
  const int fd = creation_lock(directory);
  if (fd < 0)
    return fd;
  const unique_fd held(fd), also_held(kind == state_file::index ? settings_lock(directory) : -1);
  if (also_held.get() < -1)
    return also_held.get();
  std::string text;
  struct stat state {
  }, a{}, b{};
  if (const int e = read_regular(from, name, text, state, most_bytes(kind)); e < 0) {
    if (e == -EACCES)
      refused = not_read(kind, state);
    return e;
  }
  if (const int e = check_state(kind, directory, places, text, refused); e < 0)
    return e;
  // The new file is made under the lock's name, which nobody can open for writing now.
  if (::fstat(from, &a) != 0 || ::fstat(directory, &b) != 0)
    return -errno;
  const bool is_lock = inode_of(a) == inode_of(b) && name == std::string(to) + ".lock";
  if (is_lock && ::unlinkat(from, name, 0) != 0)
    return -errno;
  if (const int e = renew(directory, to, text, state); e < 0)
    return e;
  return is_lock ? 0 : status(::unlinkat(from, name, 0));
}

namespace {

int check_one(int directory, const char* name, state_file kind, std::string& refused) {
  if (kind == state_file::conflicts && ::unlinkat(directory, name, 0) == 0)
    return 0; // as good as an empty one, and whoever has it open reaches nobody
  std::string text;
  struct stat s {};
  refused.clear();
  const unique_fd lock(creation_lock(directory));
  if (lock.get() < 0 || ::fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
      s.st_nlink != 1 || read_regular(directory, name, text, s, most_bytes(kind)) != 0)
    refused = not_read(kind, s);
  else if (const char* why = bad_state(kind, text, directory))
    refused = why;
  else if (renew(directory, name, text, s) != 0)
    refused = refusal(kind, lock_in_the_way);
  return refused.empty() ? 0 : -EACCES;
}

// Files are renewed while their directory is gone through.
std::vector<std::string> names_in(int directory, std::size_t& left, int& error) {
  std::vector<std::string> out;
  error = for_each_entry(directory, left, [&](int, const char* name) {
    out.emplace_back(name);
    return 0;
  });
  return out;
}

int check_references_in(int directory, int levels, std::size_t& left, std::string& refused) {
  int e = 0;
  for (const std::string& name : names_in(directory, left, e)) {
    const unique_fd below(open_path(directory, name.c_str(), O_DIRECTORY | O_NOFOLLOW));
    if (below.get() >= 0)
      e = levels == 0 ? -EACCES : check_references_in(below.get(), levels - 1, left, refused);
    else if (!ends_with(name, ".lock"))
      e = check_one(directory, name.c_str(), state_file::reference, refused);
    if (e < 0)
      break;
  }
  return e;
}

int check_resolutions(int directory, std::size_t& left, std::string& refused) {
  return for_each_entry(directory, left, [&](int all, const char* id) {
    const unique_fd below(open_path(all, id, O_DIRECTORY | O_NOFOLLOW));
    if (below.get() < 0)
      return below.get() == -ENOTDIR ? 0 : -EACCES;
    return for_each_entry(below.get(), left, [&](int, const char* name) {
      if (is_resolution(name))
        refused = no_resolution;
      return refused.empty() ? 0 : -EACCES;
    });
  });
}

int check_top(int directory, std::size_t& left, std::string& refused, bool is_git_dir) {
  int e = 0;
  for (const std::string& name : names_in(directory, left, e)) {
    const std::string low = folded(name);
    const auto kind = kind_at_the_top(name);
    if (low == "refs") {
      e = check_references(directory, name.c_str(), refused);
    } else if (is_git_dir && low == "worktrees") {
      const unique_fd all(open_path(directory, name.c_str(), O_DIRECTORY | O_NOFOLLOW));
      e = all.get() < 0 ? -EACCES : for_each_entry(all.get(), left, [&](int own, const char* one) {
        const unique_fd tree(open_path(own, one, O_DIRECTORY | O_NOFOLLOW));
        return tree.get() < 0 ? -EACCES : check_top(tree.get(), left, refused, false);
      });
    } else if (is_git_dir && low == "rr-cache") {
      const unique_fd all(open_path(directory, name.c_str(), O_DIRECTORY | O_NOFOLLOW));
      e = all.get() < 0 ? -EACCES : check_resolutions(all.get(), left, refused);
    } else if (kind != state_file::none) {
      e = check_one(directory, name.c_str(), kind, refused);
    }
    if (e < 0)
      break;
  }
  return e;
}

} // namespace

int check_references(int directory, const char* name, std::string& refused) {
  std::size_t left = files_at_most;
  const unique_fd refs(open_path(directory, name, O_DIRECTORY | O_NOFOLLOW));
  const int e =
      refs.get() < 0 ? -EACCES : check_references_in(refs.get(), deepest_reference, left, refused);
  if (e < 0 && refused.empty())
    refused = std::string("git state: ") + unclear;
  return e < 0 ? -EACCES : 0;
}

int check_state_files(int directory, std::string& refused) {
  std::size_t left = files_at_most;
  const int e = check_top(directory, left, refused, true);
  if (e < 0 && refused.empty())
    refused = std::string("git state: ") + unclear;
  return e;
}

} // namespace piorch::sandbox::guard
