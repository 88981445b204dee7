#include "config/private_directory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::config {

namespace {

error fault(const std::string& path, const std::string& why) {
  return {failure::fault, path + ": " + why};
}

result<done> check_open_directory(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0)
    return fault(path, std::strerror(errno));
  if (st.st_uid != ::geteuid())
    return fault(path, "belongs to another user (uid " + std::to_string(st.st_uid) +
                           "); remove it, or set XDG_RUNTIME_DIR to a directory of your own");
  if ((st.st_mode & 07777) != 0700 && ::fchmod(fd, 0700) != 0)
    return fault(path, std::string("cannot be made private: ") + std::strerror(errno));
  return done{};
}

} // namespace

result<done> make_private_directory(const std::string& path) {
  if (path.empty() || path[0] != '/')
    return fault(path, "is not an absolute path");
  for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return fault(part, std::string("cannot be made: ") + std::strerror(errno));
    if (slash == std::string::npos)
      break;
  }
  // One descriptor for check and change: the name cannot be swapped in between.
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return fault(path, errno == ELOOP || errno == ENOTDIR
                           ? "is not a directory (links are not followed here)"
                           : std::strerror(errno));
  auto checked = check_open_directory(fd, path);
  ::close(fd);
  return checked;
}

} // namespace piorch::config
