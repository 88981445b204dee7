// operations::rename: a name leaves, and another comes into being with all that is below it.
#include "sandbox/guard/operations.hpp"

namespace piorch::sandbox::guard {

namespace {
constexpr unsigned no_replace = 1, exchange = 2, whiteout = 4;
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
    if (is_link(at)) {
      refused = link_to_repository;
      return -EACCES;
    }
    return may_be_dot_git(at.parent, at.name, path_of(s_.proc, at.parent), refused);
  };
  ::pthread_rwlock_wrlock(&s_.deeds);
  int e = is_there(source) ? check_at(source) : -ENOENT;
  if (e == 0)
    e = act();
  if (e == 0 && check_at(target) != 0) // another sandbox's doing
    undo();
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

  const auto refused = [&](const place& at, const char* rule) {
    return is_there(source) ? refuse(at, rule) : -ENOENT;
  };
  const hit arrives = check(target);
  // mv into a directory begins like this; the kernel would refuse it as well.
  if ((arrives != hit::none || is_dot_git(target.name)) && (flags & no_replace) && is_there(target))
    return is_there(source) ? -EEXIST : -ENOENT;
  if (arrives != hit::none)
    return refused(target, arrives == hit::guarded ? protected_name : protected_parent);
  const hit leaves = check(source);
  if (leaves != hit::none)
    return refused(source, leaves == hit::guarded ? protected_name : protected_parent);

  auto act = [&] {
    return status(::syscall(SYS_renameat2, source.parent, source.spelled().c_str(), target.parent,
                            target.spelled().c_str(), flags));
  };
  if (is_dot_git(target.name) || ((flags & exchange) && is_dot_git(source.name))) {
    if (flags & exchange)
      return refused(target, "a .git takes no part in an exchange");
    auto undo = [&] {
      return status(
          ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str()));
    };
    return rename_to_dot_git(source, target, act, undo);
  }
  const char* why = nullptr;
  const verdict away = judge(source.parent, source.name, deed::move_away, why);
  if (away == verdict::refuse)
    return refused(source, why);
  const verdict here = judge(target.parent, target.name, deed::move_here, why);
  if (here == verdict::refuse)
    return refused(target, why);
  const verdict back =
      flags & exchange ? judge(source.parent, source.name, deed::move_here, why) : verdict::allow;
  if (back != verdict::allow)
    return refused(source, why ? why : protected_name);

  if (away == verdict::publish || here == verdict::publish) {
    struct stat a {
    }, b{};
    const bool from_lock = ::fstat(source.parent, &a) == 0 && ::fstat(target.parent, &b) == 0 &&
                           inode_of(a) == inode_of(b) && source.name == target.name + ".lock";
    if (!from_lock || (flags & ~no_replace) || here != verdict::publish)
      return refused(target, "git config: only through its lock file");
    if ((flags & no_replace) && is_there(target))
      return -EEXIST;
    std::string setting;
    const int e = publish(target.parent, source.name.c_str(), target.name.c_str(),
                          path_of(s_.proc, target.parent), setting);
    return setting.empty() ? e : refused(target, setting.c_str());
  }
  if (here == verdict::convert) {
    ::pthread_rwlock_wrlock(&s_.deeds);
    std::string setting;
    const std::string path = path_of(s_.proc, target.parent);
    int e = is_there(source) ? becomes_git_dir(target.parent, path, setting) : -ENOENT;
    if (e == 0)
      e = act();
    if (e == 0 && becomes_git_dir(target.parent, path, setting) != 0)
      ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str());
    ::pthread_rwlock_unlock(&s_.deeds);
    return setting.empty() ? e : refuse(target, setting.c_str());
  }
  ::pthread_rwlock_rdlock(&s_.deeds);
  // Once more under the lock: the directory may have become a Git directory.
  int e = -EACCES;
  if (judge(target.parent, target.name, deed::move_here, why) == verdict::allow) {
    e = act();
    if (e == 0 && depends_on_surroundings(target.parent, target.name) &&
        judge(target.parent, target.name, deed::move_here, why) == verdict::refuse) {
      ::renameat(target.parent, target.name.c_str(), source.parent, source.name.c_str());
      e = -EACCES;
    } else {
      why = nullptr;
    }
  } else if (!why) {
    why = "it changed meanwhile";
  }
  ::pthread_rwlock_unlock(&s_.deeds);
  return e == -EACCES && why ? refused(target, why) : e;
}

} // namespace piorch::sandbox::guard
