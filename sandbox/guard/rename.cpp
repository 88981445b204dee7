// operations::rename: a name leaves, and another comes into being with all that is below it.
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/operations.hpp"
#include "sandbox/guard/state_file.hpp"

namespace piorch::sandbox::guard {

namespace {
constexpr unsigned no_replace = 1, exchange = 2, whiteout = 4;
} // namespace

int operations::may_become_git_dir(int directory, std::string& refused) const {
  if (s_.programs.has_one(directory)) {
    refused = tree_with_programs;
    return -EACCES;
  }
  return becomes_git_dir(directory, path_of(s_.proc, directory), refused);
}

bool operations::is_rename(unsigned flags) {
  return !(flags & ~(no_replace | exchange | whiteout)) &&
         !((flags & (no_replace | whiteout)) && (flags & exchange));
}

// With the name, a directory gets the host's trust: `git init` there adopts what is in it.
int operations::rename_to_dot_git(const place& source, const place& target, action act,
                                  action undo) {
  std::string refused;
  const auto check_at = [&](const place& at) {
    if (const char* broken =
            s_.programs.broken_by(target.parent, target.path, target.name, deed::move_here)) {
      refused = broken;
      return -EACCES;
    }
    if (is_link(at)) {
      refused = link_to_repository;
      return -EACCES;
    }
    return may_be_dot_git(at.parent, at.name, path_of(s_.proc, at.parent), refused);
  };
  ::pthread_rwlock_wrlock(&s_.deeds);
  int e = is_there(source) ? check_at(source) : -ENOENT;
  if (e == 0) {
    const git_file_places::pause still(s_.git_files);
    e = act(verdict::allow);
    if (e == 0 && check_at(target) != 0) // another sandbox's doing
      undo(verdict::allow);
  }
  ::pthread_rwlock_unlock(&s_.deeds);
  return refused.empty() ? e : refuse(target, refused.c_str());
}

int operations::rename(int from_directory, const char* from, int to_directory, std::uint64_t to,
                       unsigned flags) {
  place source, target;
  if (const int e = find_place(c_, from_directory, from, last_link::keep, false, source); e < 0)
    return e;
  if (const int e = find_second(source, to_directory, to, target); e < 0)
    return e;
  if (!c_.alive())
    return answered;

  // Between mounts the kernel refuses by itself, and mv copies then. Not onto a file that is
  // there: mv would remove that one first, and the copy could be refused.
  const auto refused = [&](const place& at, const char* rule) {
    if (!is_there(source))
      return -ENOENT;
    return same_mount(source.parent, target.parent) || is_there(target) ? refuse(at, rule) : -EXDEV;
  };
  const hit arrives = check(target);
  // mv into a directory begins like this; the kernel would refuse it as well.
  if ((arrives != hit::none || is_dot_git(target.name)) && (flags & no_replace) && is_there(target))
    return is_there(source) ? -EEXIST : -ENOENT;
  if (arrives != hit::none)
    return refused(target, arrives == hit::ancestor ? protected_parent : protected_name);
  const hit leaves = check(source);
  if (leaves != hit::none)
    return refused(source, leaves == hit::ancestor ? protected_parent : protected_name);

  // As between file systems: mv copies, and what must not be there is refused then. Whether or
  // not the source is there by now: it could come into being after a look.
  if ((is_plain_by_rule(target) || (flags & exchange)) &&
      is_plain_by_rule(source) != is_plain_by_rule(target))
    return is_there(source) ? -EXDEV : -ENOENT;
  // For a file Git directories have the rules below. A directory may hold links. A .gitignore is
  // no pipe, wherever it is.
  const auto out_of_place = [&](const place& what, const place& left, const place& entered) {
    struct stat s {};
    if (::fstatat(what.parent, what.name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISREG(s.st_mode))
      return false;
    return (is_read_in_trees(entered.name) && !S_ISDIR(s.st_mode) && !S_ISLNK(s.st_mode)) ||
           (is_plain(entered) &&
            (!is_plain(left) || (S_ISLNK(s.st_mode) && entered.name != left.name)));
  };
  if (out_of_place(source, source, target) ||
      ((flags & exchange) && out_of_place(target, target, source)))
    return refused(target, only_plain);

  const auto carry_out = [&] {
    return status(::syscall(SYS_renameat2, source.parent, source.spelled().c_str(), target.parent,
                            target.spelled().c_str(), flags));
  };
  const char* in_the_way = nullptr; // of `stuck`
  const place* stuck = &source;
  // Under a pause, which goes on until what may not stay there is back again: in between a `.git`
  // file would lead through a place that seems to be empty.
  auto go = [&](verdict) {
    const auto may_go = [&](const place& at, const place& goal) {
      const bool may_come = s_.git_files.may_arrive(goal.parent, goal.name);
      stuck = may_come ? &at : &goal;
      in_the_way = !may_come                                     ? on_the_way_of_a_git_file
                   : !s_.git_files.may_leave(at.parent, at.name) ? holds_a_git_file
                                                                 : nullptr;
      return !in_the_way;
    };
    if (!may_go(source, target) || ((flags & exchange) && !may_go(target, source))) {
      if (!(flags & no_replace) || !is_there(target))
        return -EACCES;
      in_the_way = nullptr; // mv into a directory begins like this
      return is_there(source) ? -EEXIST : -ENOENT;
    }
    return carry_out();
  };
  if ((flags & exchange) && (is_dot_git(target.name) || is_dot_git(source.name)))
    return refused(target, "a .git takes no part in an exchange");
  // A file is copied below.
  struct stat moved {};
  if (is_dot_git(target.name) &&
      !(::fstatat(source.parent, source.name.c_str(), &moved, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(moved.st_mode))) {
    if (!same_mount(source.parent, target.parent))
      return -EXDEV;
    auto undo = [&](verdict) {
      return status(
          ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str()));
    };
    const int e = rename_to_dot_git(source, target, go, undo);
    return in_the_way ? refused(*stuck, in_the_way) : e;
  }
  const char* why = nullptr;
  const verdict away = judge(source, deed::move_away, why);
  if (away == verdict::refuse)
    return refused(source, why);
  const verdict here = judge(target, deed::move_here, why);
  if (here == verdict::refuse)
    return refused(target, why);
  const verdict back = flags & exchange ? judge(source, deed::move_here, why) : verdict::allow;
  if (back != verdict::allow)
    return refused(source, why ? why : protected_name);

  const auto state = state_file_of(target.parent, directory_path(target), target.name);
  if (state != state_file::none && here == verdict::publish) {
    struct stat s {};
    if (::fstatat(source.parent, source.name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
      return -errno;
    if ((flags & ~no_replace) || !S_ISREG(s.st_mode))
      return refused(target, only_harmless_state);
    if (!same_mount(source.parent, target.parent))
      return -EXDEV;
    if ((flags & no_replace) && is_there(target))
      return -EEXIST;
    const auto broken = [&] { // a .git file is not a directory
      return s_.programs.broken_by(target.parent, target.path, target.name, deed::create);
    };
    if (const char* rule = broken())
      return refused(target, rule);
    std::string refusal;
    const int e = publish_state(state, source.parent, source.name.c_str(), target.parent,
                                target.name.c_str(), s_.git_files, refusal);
    if (const char* rule = e == 0 ? broken() : nullptr) { // they came meanwhile
      ::unlinkat(target.parent, target.name.c_str(), 0);
      return refuse(target, rule);
    }
    return refusal.empty() ? e : refused(target, refusal.c_str());
  }
  if (away == verdict::publish || here == verdict::publish) {
    const bool from_lock =
        same_inode(source.parent, target.parent) && source.name == target.name + ".lock";
    if (!from_lock || (flags & ~no_replace) || here != verdict::publish)
      return refused(target, only_by_lock);
    if ((flags & no_replace) && is_there(target))
      return -EEXIST;
    std::string setting;
    const int e = publish(target.parent, source.name.c_str(), target.name.c_str(),
                          path_of(s_.proc, target.parent), setting);
    return setting.empty() ? e : refused(target, setting.c_str());
  }
  if (here == verdict::convert) {
    if (!same_mount(source.parent, target.parent))
      return -EXDEV;
    ::pthread_rwlock_wrlock(&s_.deeds);
    std::string setting;
    const auto may_be_one = [&] { return may_become_git_dir(target.parent, setting); };
    int e = is_there(source) ? 0 : -ENOENT;
    if (e == 0 && has_the_other(target.parent, target.name)) {
      e = may_be_one();
      if (e == 0 && git_name_of(target.name) == git_name::refs)
        e = check_references(source.parent, source.name.c_str(), setting);
    }
    if (e == 0) {
      const git_file_places::pause still(s_.git_files);
      e = go(here);
      if (e == 0 && has_objects_and_refs(target.parent) && may_be_one() != 0) {
        if (flags & exchange)
          carry_out();
        else
          ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str());
      }
    }
    ::pthread_rwlock_unlock(&s_.deeds);
    return in_the_way        ? refused(*stuck, in_the_way)
           : setting.empty() ? e
                             : refuse(target, setting.c_str());
  }
  // The name under which a checked copy is made: its directory's lock keeps others from it.
  if ((here == verdict::lock || away == verdict::lock) && (flags & exchange))
    return refused(target, only_by_lock);
  const unique_fd from_lock(away == verdict::lock ? creation_lock(source.parent) : -1);
  const bool same = away == verdict::lock && same_inode(source.parent, target.parent);
  const unique_fd to_lock(here == verdict::lock && !same ? creation_lock(target.parent) : -1);
  if ((away == verdict::lock && from_lock.get() < 0) ||
      (here == verdict::lock && !same && to_lock.get() < 0))
    return -EBUSY;
  ::pthread_rwlock_rdlock(&s_.deeds);
  // Once more under the lock: the directory may have become a Git directory.
  int e = -EACCES;
  const verdict again = judge(target, deed::move_here, why);
  if (again == verdict::allow || (again == verdict::lock && here == verdict::lock)) {
    const git_file_places::pause still(s_.git_files);
    e = go(here);
    const bool crossed = e == 0 && (out_of_place(target, source, target) ||
                                    ((flags & exchange) && out_of_place(source, target, source)));
    if (e == 0 && (crossed || is_refused_now(target, deed::move_here, here, why) ||
                   ((flags & exchange) && is_refused_now(source, deed::move_here, back, why)))) {
      if (flags & exchange)
        carry_out();
      else
        ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str());
      why = crossed ? only_plain : why;
      e = -EACCES;
    } else {
      why = nullptr;
    }
  } else if (!why) {
    why = "it changed meanwhile";
  }
  ::pthread_rwlock_unlock(&s_.deeds);
  if (in_the_way)
    return refused(*stuck, in_the_way);
  return e == -EACCES && why ? refused(target, why) : e;
}

} // namespace piorch::sandbox::guard
