#include "sandbox/guard/git_dir.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/components.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/entries.hpp"
#include "sandbox/guard/git_keys.hpp"
#include "sandbox/guard/memory_file.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/state_file.hpp"

#include <algorithm>
#include <cctype>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr const char* in_hooks = "git hook";
constexpr const char* in_remotes = "git remote outside the configuration";
constexpr const char* in_common_dir = "git commondir";
constexpr const char* not_only_plain =
    "it holds more than files and directories, through which the host's Git would write";
constexpr int deepest = 64;                      // levels of directories
constexpr std::size_t entries_at_most = 200'000; // that are looked at in what becomes one

bool there(int directory, const char* name) {
  struct stat s {};
  return ::fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

// Is this directory the one called `name` in its parent? When nobody may look: yes.
bool is_called(int directory, const char* up_and_name, bool when_unclear = true) {
  struct stat named {
  }, own{};
  if (::fstatat(directory, up_and_name, &named, 0) != 0)
    return when_unclear && errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
  return ::fstat(directory, &own) == 0 && inode_of(named) == inode_of(own);
}

bool is_git_parent(int directory) {
  return there(directory, "../objects") && there(directory, "../refs");
}

// `git init` on the host adopts what lies in a .git already, hooks and config.
bool is_called_dot_git(int directory) {
  struct stat named {
  }, own{};
  unique_fd up(open_path(directory, "..", O_DIRECTORY));
  if (up.get() < 0 || ::fstat(directory, &own) != 0)
    return true;
  if (::fstatat(up.get(), ".git", &named, AT_SYMLINK_NOFOLLOW) != 0)
    return errno != ENOENT;
  return inode_of(named) == inode_of(own);
}

// A file system may fold more than we do, and then any odd name may be this one.
bool may_be_called(std::string_view path, std::string_view name) {
  const std::string_view own = path.substr(path.rfind('/') + 1);
  return own.empty() || is_odd(own) || (own.size() == name.size() && folded(own) == name);
}

bool may_be_remotes_dir(std::string_view path) {
  return may_be_called(path, "remotes") || may_be_called(path, "branches");
}

bool is_hooks_dir(int directory, std::string_view path) {
  if (!may_be_called(path, "hooks") || !is_called(directory, "../hooks"))
    return false;
  unique_fd up(open_path(directory, "..", O_DIRECTORY));
  return is_git_parent(directory) || up.get() < 0 || is_called_dot_git(up.get());
}

bool is_remotes_dir(int directory, std::string_view path) {
  if (!may_be_remotes_dir(path))
    return false;
  if (!is_called(directory, "../remotes") && !is_called(directory, "../branches"))
    return false;
  unique_fd up(open_path(directory, "..", O_DIRECTORY));
  return up.get() < 0 || is_git_dir(up.get());
}

bool is_linked_worktree_of_git_dir(int directory) {
  unique_fd all(open_path(directory, "..", O_DIRECTORY));
  return all && is_called(all.get(), "../worktrees", false) && is_git_parent(all.get());
}

bool is_sample(std::string_view name) {
  constexpr std::string_view end = ".sample";
  return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
}

verdict refuse(const char* rule, const char*& why) {
  why = rule;
  return verdict::refuse;
}

verdict judge_name(int parent, git_name is, deed what, const char*& why);

} // namespace

git_name git_name_of(std::string_view name) {
  struct entry {
    std::string_view name;
    git_name what;
  };
  static constexpr entry all[] = {
      {"config", git_name::config},
      {"config.lock", git_name::config_lock},
      {"config.worktree", git_name::worktree_config},
      {"config.worktree.lock", git_name::worktree_config_lock},
      {"commondir", git_name::common_dir},
      {"hooks", git_name::hooks},
      {"remotes", git_name::remotes},
      {"branches", git_name::remotes},
      {"objects", git_name::objects},
      {"refs", git_name::refs},
  };
  if (name.size() < 4 || name.size() > 20)
    return git_name::none;
  const std::string low = folded(name);
  for (const entry& e : all)
    if (e.name == low)
      return e.what;
  return git_name::none;
}

bool is_git_dir(int directory) {
  return has_objects_and_refs(directory) || is_called_dot_git(directory);
}

bool depends_on_surroundings(std::string_view path, std::string_view name) {
  return git_name_of(name) != git_name::none || may_be_state_file(path, name) ||
         may_be_called(path, "hooks") || may_be_remotes_dir(path);
}

verdict judge(int parent, std::string_view path, std::string_view name, deed what,
              const char*& why) {
  if (what != deed::move_away && !is_sample(name) && is_hooks_dir(parent, path))
    return refuse(in_hooks, why);
  if (what != deed::move_away && is_remotes_dir(parent, path))
    return refuse(in_remotes, why);
  if (what == deed::move_here && holds_state_files(parent, path, name))
    return refuse(only_harmless_state, why);
  const git_name is = git_name_of(name);
  // Below `refs` too it makes a Git directory, which could be moved out.
  if (what == deed::make_directory && (is == git_name::objects || is == git_name::refs))
    return verdict::convert;
  constexpr std::string_view locked = ".lock";
  const bool is_lock =
      name.size() > locked.size() && name.substr(name.size() - locked.size()) == locked;
  const auto of_lock =
      is_lock ? state_file_of(parent, path, name.substr(0, name.size() - locked.size()))
              : state_file::none;
  if (of_lock != state_file::none && of_lock != state_file::resolution)
    return what == deed::link_from || what == deed::make_other ? refuse(only_harmless_state, why)
           : what == deed::make_directory                      ? verdict::allow
                                                               : verdict::lock;
  if (state_file_of(parent, path, name) != state_file::none) {
    const bool completes = (is == git_name::objects || is == git_name::refs) &&
                           what != deed::move_away && has_the_other(parent, name);
    return completes ? refuse(only_harmless_state, why)
                     : judge_state(parent, path, name, what, why);
  }
  return judge_name(parent, is, what, why);
}

namespace {

verdict judge_name(int parent, git_name is, deed what, const char*& why) {
  switch (is) {
    case git_name::none:
      return verdict::allow;
    case git_name::config:
    case git_name::config_lock:
      if (!is_git_dir(parent))
        return verdict::allow;
      [[fallthrough]];
    case git_name::worktree_config:
    case git_name::worktree_config_lock: {
      const bool lock = is == git_name::config_lock || is == git_name::worktree_config_lock;
      if (lock && what == deed::create)
        return verdict::lock;
      if (what == (lock ? deed::move_away : deed::move_here))
        return verdict::publish;
      why = only_by_lock;
      return !lock && (what == deed::create || what == deed::write) ? verdict::stage
                                                                    : verdict::refuse;
    }
    case git_name::common_dir:
      if (what == deed::create && is_linked_worktree_of_git_dir(parent))
        return verdict::decoy;
      return refuse(in_common_dir, why);
    case git_name::hooks:
    case git_name::remotes:
      if (what == deed::make_directory || what == deed::write || what == deed::link_from ||
          (what == deed::move_away && is == git_name::remotes) || !is_git_dir(parent))
        return verdict::allow;
      return refuse(is == git_name::hooks ? in_hooks : in_remotes, why);
    case git_name::objects:
    case git_name::refs: // whatever is there now: the other one may be on its way
      return what == deed::create || what == deed::make_directory || what == deed::make_other ||
                     what == deed::move_here
                 ? verdict::convert
                 : verdict::allow;
  }
  return refuse("unknown name", why);
}

} // namespace

int make_decoy(int parent, const std::string& name, int flags, mode_t mode) {
  // What `git worktree add` writes, and replaces at once, is the id of nothing.
  const std::string text = name == "HEAD" ? std::string(40, '0') + "\n" : "../..\n";
  unique_fd real(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!real)
    return -errno;
  if (::write(real.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return -EIO;
  const int own =
      (flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW | O_ACCMODE)) | O_RDWR | O_CLOEXEC;
  const int fd = status(::openat(parent, ".", own | O_TMPFILE, mode));
  struct stat s {};
  return fd < 0 && makes_no_nameless_files(-fd) && ::fstat(real.get(), &s) == 0
             ? memory_file(own, s.st_mode & 07777)
             : fd;
}

namespace {

// 0, or -EACCES when there is more than samples in it (or it is not a directory of its own).
int check_empty(int directory, const char* which) {
  const unique_fd fd(open_path(directory, which, O_DIRECTORY | O_NOFOLLOW));
  if (fd.get() < 0)
    return fd.get() == -ENOENT ? 0 : -EACCES;
  std::size_t left = entries_at_most;
  return for_each_entry(fd.get(), left,
                        [](int, const char* name) { return is_sample(name) ? 0 : -EACCES; });
}

// 0, or -EACCES when something in D is neither a file nor a directory nor the link that Git tries.
int check_only_plain(int directory, int levels, std::size_t& left) {
  return for_each_entry(directory, left, [&](int own, const char* name) {
    struct stat s {};
    if (::fstatat(own, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
      return -EACCES;
    if (S_ISREG(s.st_mode))
      return 0;
    if (S_ISDIR(s.st_mode)) {
      const unique_fd below(open_path(own, name, O_DIRECTORY | O_NOFOLLOW));
      return below.get() < 0 || levels == 0 ? -EACCES
                                            : check_only_plain(below.get(), levels - 1, left);
    }
    char target[16]; // no more: this calls itself, on a small stack
    const auto n = S_ISLNK(s.st_mode) ? ::readlinkat(own, name, target, sizeof target) : -1;
    return n > 0 && is_trial_link(name, {target, static_cast<std::size_t>(n)}) ? 0 : -EACCES;
  });
}

} // namespace

bool has_objects_and_refs(int directory) {
  return there(directory, "objects") && there(directory, "refs");
}

bool has_the_other(int directory, std::string_view name) {
  return there(directory, git_name_of(name) == git_name::refs ? "objects" : "refs");
}

int becomes_git_dir(int directory, const std::string& path, std::string& refused) {
  std::size_t left = entries_at_most;
  if (!is_below_dot_git(path) && check_only_plain(directory, deepest, left) != 0) {
    refused = not_only_plain;
    return -EACCES;
  }
  for (const char* which : {"hooks", "remotes", "branches"})
    if (check_empty(directory, which) != 0) {
      refused = which[0] == 'h' ? in_hooks : in_remotes;
      return -EACCES;
    }
  std::string text;
  struct stat state {};
  int e = read_regular(directory, "config", text, state);
  if (e == -ENOENT)
    return check_state_files(directory, refused);
  // What is read is what is renewed: a copy may just be put in place (staged_files).
  unique_fd lock(creation_lock(directory));
  e = lock.get() < 0 ? lock.get() : read_regular(directory, "config", text, state);
  if (e == 0) {
    text = without_work_tree({}, text, path);
    refused = first_refused({}, text);
    if (refused.empty())
      e = renew_file(directory, "config", text, state);
    lock.reset();
    // By the settings that it will have, which say how an index is read.
    if (refused.empty() && e != -EEXIST)
      return e < 0 ? e : check_state_files(directory, refused);
  }
  if (refused.empty())
    refused = e == -EEXIST ? "its lock file is in the way" : "(unreadable)";
  refused = "git config: " + refused;
  return -EACCES;
}

bool is_read_in_trees(std::string_view name) {
  return (name.size() >= 4 && folded(name.substr(0, 4)) == ".git") ||
         (name.size() == 8 && folded(name) == ".mailmap");
}

bool is_below_dot_git(std::string_view path) {
  for (auto one = take_component(path); !one.empty(); one = take_component(path))
    if (is_dot_git(one))
      return true;
  return false;
}

bool is_in_git_dir(int directory, std::string_view path) {
  if (is_below_dot_git(path))
    return true;
  unique_fd at(open_path(directory, ".", O_DIRECTORY));
  struct stat here {
  }, up{};
  for (int levels = 0; levels < deepest; ++levels) {
    if (at.get() < 0 || ::fstat(at.get(), &here) != 0 || is_git_dir(at.get()))
      return true;
    unique_fd above(open_path(at.get(), "..", O_DIRECTORY));
    // Above the writable trees nothing can be planted, and a work tree may lie in a bare
    // repository. A tree that is part of a Git directory has a rule (rule_kind::plain).
    if (above && read_only(above.get()) == 1)
      return false;
    if (above && ::fstat(above.get(), &up) == 0 && inode_of(up) == inode_of(here))
      return false; // the root
    at = std::move(above);
  }
  return true;
}

bool is_trial_link(std::string_view name, std::string_view target) {
  return target == "testing" && name.size() == 7 && name[0] == 't' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool is_dot_git(std::string_view name) { return name.size() == 4 && folded(name) == ".git"; }

int may_be_dot_git(int parent, const std::string& name, const std::string& path,
                   std::string& refused) {
  unique_fd fd(open_path(parent, name.c_str(), O_DIRECTORY | O_NOFOLLOW));
  if (fd.get() < 0) { // a file comes to that name as a copy (state_file)
    refused = "a directory called .git that cannot be looked into";
    return -EACCES;
  }
  struct stat objects {
  }, refs{};
  if (::fstatat(fd.get(), "objects", &objects, 0) == 0 &&
      ::fstatat(fd.get(), "refs", &refs, 0) == 0)
    return 0;
  return becomes_git_dir(fd.get(), path + '/' + name, refused);
}

} // namespace piorch::sandbox::guard
