#include "tools/piorch/report_file.hpp"

#include "sandbox/files.hpp"
#include "tools/piorch/surroundings.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace piorch::cli {

result<ipc::unique_fd> open_report(const std::string& written,
                                   const std::string& current_directory) {
  const auto failed = [&written](const std::string& why) {
    return error{failure::usage, "cannot write the report " + written + ": " + why};
  };
  const std::string path = absolute(written, current_directory);
  // Links above the current directory are the user's own; below it a worker may
  // have written.
  const auto here = sandbox::canonical(current_directory);
  std::string base = "/", rest = path.substr(1);
  if (here && sandbox::is_within(path, current_directory) && path != current_directory) {
    base = *here;
    rest = sandbox::relative_to(path, current_directory);
  } else if (const auto parent = sandbox::canonical(sandbox::parent_of(path))) {
    base = *parent;
    rest = path.substr(path.rfind('/') + 1);
  }
  if (rest.empty())
    return failed(std::strerror(EISDIR));
  const ipc::unique_fd directory(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.mode = 0644;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  ipc::unique_fd fd(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), rest.c_str(), &how, sizeof how)));
  struct stat st {};
  if (!fd)
    return failed(errno == ELOOP ? "a link is in the way; name the file it leads to"
                                 : std::strerror(errno));
  if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return failed("not a regular file");
  return fd;
}

} // namespace piorch::cli
