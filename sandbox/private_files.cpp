#include "sandbox/private_files.hpp"

#include "sandbox/files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr const char* directory_name = "agent";

error not_made(const std::string& name) {
  return {failure::sandbox_unavailable,
          "cannot make the private file " + name + ": " + std::strerror(errno)};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR)
      return false;
    text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  return true;
}

} // namespace

result<done> place_private_files(const private_files& files, const scratch& temp,
                                 environment& variables) {
  if (files.variable.empty())
    return done{};
  if (temp.path().empty())
    return error{failure::sandbox_unavailable,
                 "no private temporary directory could be made, and this program needs one"};
  if (::mkdirat(temp.directory(), directory_name, 0700) != 0)
    return not_made(directory_name);
  const ipc::unique_fd directory(
      ::openat(temp.directory(), directory_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory)
    return not_made(directory_name);
  for (const auto& [name, text] : files.texts) {
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
      return error{failure::usage, "not a file name: \"" + name + "\""};
    const ipc::unique_fd file(::openat(directory.get(), name.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
    if (!file || !write_all(file.get(), text))
      return not_made(name);
  }
  variables.set(files.variable, join(temp.path(), directory_name));
  return done{};
}

} // namespace piorch::sandbox
