// operations::bind: a socket gets a name in the file system.
#include "sandbox/guard/operations.hpp"

#include <algorithm>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

#ifndef PIDFD_THREAD // Linux 6.9
#define PIDFD_THREAD O_EXCL
#endif

namespace piorch::sandbox::guard {

using ipc::unique_fd;

int operations::bind(int socket, std::uint64_t address, std::uint32_t length) {
  sockaddr_storage copy{};
  if (length > sizeof copy)
    return -EINVAL;
  if (length > 0 && c_.copy(address, &copy, length) < 0)
    return -EFAULT;
  long handle = ::syscall(SYS_pidfd_open, c_.tid(), PIDFD_THREAD);
  if (handle < 0 && errno == EINVAL)
    handle = ::syscall(SYS_pidfd_open, c_.tid(), 0);
  unique_fd process(static_cast<int>(handle));
  if (!process)
    return -errno;
  unique_fd own(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), socket, 0)));
  if (!own)
    return -errno;
  if (!c_.alive())
    return answered;
  const auto bind_to = [&](const void* to, std::size_t bytes) {
    return status(
        ::bind(own.get(), static_cast<const sockaddr*>(to), static_cast<socklen_t>(bytes)));
  };
  constexpr std::size_t path_at = offsetof(sockaddr_un, sun_path);
  const auto* named = reinterpret_cast<const sockaddr_un*>(&copy);
  if (length <= path_at || named->sun_family != AF_UNIX || named->sun_path[0] == 0)
    return bind_to(&copy, length);

  char path[sizeof copy + 1] = {};
  std::memcpy(path, named->sun_path,
              std::min<std::size_t>(length - path_at, sizeof named->sun_path));
  place at;
  if (const int e = find_place(c_, AT_FDCWD, path, last_link::keep, false, at); e < 0)
    return e;
  if (is_plain(at) || is_read_in_trees(at.name))
    return is_there(at) ? -EADDRINUSE : refuse(at, only_plain);
  if (const int e = use_callers_mask(); e < 0)
    return e;
  const bool plain = git_name_of(at.name) == git_name::none &&
                     s_.names.check(at.parent, at.name) == hit::none &&
                     same_place(c_.root(), s_.root);
  auto act = [&](verdict) {
    // A name that is protected nowhere may be bound as the caller spelled it, so that
    // getsockname shows that, wherever a parent has been moved meanwhile.
    if (plain && !s_.names.mentions(at.name)) {
      if (path[0] != '/' && ::fchdir(c_.directory()) != 0)
        return -errno;
      return bind_to(&copy, length);
    }
    if (::fchdir(at.parent) != 0) // this thread has a working directory of its own
      return -errno;
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    const std::string name = at.spelled();
    std::memcpy(here.sun_path, name.c_str(), std::min(name.size(), sizeof here.sun_path - 1));
    return bind_to(&here, path_at + std::min(name.size() + 1, sizeof here.sun_path));
  };
  auto act_and_look = [&](verdict v) {
    const int e = act(v);
    return e < 0 ? e : stay_in_place(at);
  };
  const int e = make(at, deed::make_other, act_and_look);
  [[maybe_unused]] const int back = ::fchdir(s_.root);
  return e == -EEXIST ? -EADDRINUSE : e;
}

} // namespace piorch::sandbox::guard
