#include "config/private_directory.hpp"

#include <algorithm>
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

result<done> check_open_directory(int fd, const std::string& path, const std::string& variable) {
  struct stat st {};
  if (::fstat(fd, &st) != 0)
    return fault(path, std::strerror(errno));
  if (st.st_uid != ::geteuid())
    return fault(path, "belongs to another user (uid " + std::to_string(st.st_uid) +
                           "); remove it, or set " + variable + " to a directory of your own");
  if ((st.st_mode & 07777) != 0700 && ::fchmod(fd, 0700) != 0)
    return fault(path, std::string("cannot be made private: ") + std::strerror(errno));
  return done{};
}

} // namespace

result<done> make_private_directory(const std::string& path, const std::string& variable) {
  if (path.empty() || path[0] != '/')
    return fault(path, "is not an absolute path");
  const int unmade = ::mkdir(path.c_str(), 0700) != 0 ? errno : 0;
  if (unmade != 0 && unmade != EEXIST && unmade != EROFS && unmade != EACCES)
    return unmade == ENOENT ? fault(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)),
                                    "does not exist; make it, or set " + variable +
                                        " to a private directory "
                                        "that does (or to nothing)")
                            : fault(path, std::string("cannot be made: ") + std::strerror(unmade));
  // One descriptor for check and change: the name cannot be swapped in between.
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && unmade != 0)
    return fault(path, std::string("cannot be made: ") + std::strerror(unmade));
  if (fd < 0)
    return fault(path, errno == ELOOP || errno == ENOTDIR
                           ? "is not a directory (links are not followed here)"
                           : std::strerror(errno));
  auto checked = check_open_directory(fd, path, variable);
  ::close(fd);
  return checked;
}

} // namespace piorch::config
