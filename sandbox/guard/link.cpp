// operations::link: a file, or a link, gets another name.
#include "sandbox/guard/operations.hpp"

#include <cstdio>
#include <cstring>

namespace piorch::sandbox::guard {

int operations::link(int from_directory, const char* from, int to_directory, std::uint64_t to,
                     int flags) {
  const bool by_descriptor = (flags & AT_EMPTY_PATH) && !*from;
  place source, target;
  unique_fd pinned;
  if (by_descriptor) {
    pinned.reset(from_directory == AT_FDCWD ? ::dup(c_.directory())
                                            : c_.descriptor(from_directory));
    if (pinned.get() < 0)
      return pinned.get() == -1 ? -EBADF : pinned.get();
  } else {
    const std::size_t length = std::strlen(from);
    const bool follow = (flags & AT_SYMLINK_FOLLOW) || (length > 0 && from[length - 1] == '/');
    const auto last = follow ? last_link::follow : last_link::keep;
    if (const int e = find_place(c_, from_directory, from, last, true, source); e < 0)
      return e;
    if (!source.exists)
      return -ENOENT;
    if (source.slash && !source.magic && !S_ISDIR(source.state.st_mode) && !source.itself())
      return -ENOTDIR;
  }
  if (const int e = find_second(source, to_directory, to, target); e < 0)
    return e;
  if (!c_.alive())
    return answered;
  if (source.magic) {
    const without_tracing limited(source.foreign);
    pinned.reset(open_path(source.parent, source.name.c_str()));
    if (pinned.get() < 0)
      return pinned.get();
  }
  // Another name of a guarded file would be a way to write it.
  const char* why = nullptr;
  if (is_there(target)) // before anything is reported: libgit2 tries a link first
    return -EEXIST;
  // From elsewhere it may be a link that is hard-linked: as between file systems.
  if (is_plain_by_rule(target) && (pinned || !is_plain_by_rule(source)))
    return -EXDEV;
  if (pinned) {
    if (const int e = may_write(pinned.get()); e < 0)
      return e;
  } else if (forbids_writing(check(source)) && !is_read_only(source)) {
    return refuse(source, protected_name);
  } else if (judge(source, deed::link_from, why) == verdict::refuse) {
    return refuse(source, why);
  }
  char name[40];
  if (pinned)
    std::snprintf(name, sizeof name, "self/fd/%d", pinned.get());
  auto make_link = [&] {
    return pinned ? status(::linkat(s_.proc, name, target.parent, target.spelled().c_str(),
                                    AT_SYMLINK_FOLLOW))
                  : status(::linkat(source.parent, source.spelled().c_str(), target.parent,
                                    target.spelled().c_str(), 0));
  };
  auto act = [&](verdict) {
    const int e = make_link();
    if (e < 0 || !(is_dot_git(target.name) && is_link(target)))
      return e < 0 ? e : stay_in_place(target);
    ::unlinkat(target.parent, target.name.c_str(), 0);
    return refuse(target, link_to_repository);
  };
  return make(target, deed::make_other, act);
}

} // namespace piorch::sandbox::guard
