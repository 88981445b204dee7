#include "sandbox/files.hpp"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace piorch::sandbox {

std::optional<std::string> canonical(const std::string& path) {
  // The kernel resolves in one call what realpath(3) does in one per component.
  const ipc::unique_fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd)
    return std::nullopt;
  char resolved[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t n = ::readlink(link.c_str(), resolved, sizeof resolved);
  if (n > 0 && n < static_cast<ssize_t>(sizeof resolved) && resolved[0] == '/') {
    std::string found(resolved, static_cast<std::size_t>(n));
    struct stat there {
    }, opened{};
    // A removed or unreachable file has a name that leads elsewhere.
    if (::lstat(found.c_str(), &there) == 0 && ::fstat(fd.get(), &opened) == 0 &&
        there.st_ino == opened.st_ino && there.st_dev == opened.st_dev)
      return found;
  }
  return std::nullopt;
}

std::optional<struct stat> look(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0)
    return std::nullopt;
  return st;
}

bool is_directory(const std::string& path) {
  const auto st = look(path);
  return st && S_ISDIR(st->st_mode);
}

bool exists(const std::string& path) { return look(path).has_value(); }

bool is_hidden(const std::string& path) {
  return !look(path) && errno != ENOENT && errno != ENOTDIR;
}

bool is_open(const std::string& directory) {
  return ::faccessat(AT_FDCWD, directory.c_str(), R_OK | X_OK, AT_EACCESS) == 0;
}

ipc::unique_fd open_pinned(const std::string& absolute_path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC; // with O_NOFOLLOW a link itself would be opened
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return ipc::unique_fd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, absolute_path.c_str(), &how, sizeof how)));
}

std::optional<std::string> read_small_file(const std::string& path, std::size_t limit_bytes) {
  const ipc::unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return std::nullopt;
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t n = ::read(fd.get(), block, sizeof block);
    if (n < 0)
      return std::nullopt;
    if (n == 0)
      return text;
    text.append(block, static_cast<std::size_t>(n));
    if (text.size() > limit_bytes)
      return std::nullopt;
  }
}

bool is_within(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/")
    return !path.empty() && path.front() == '/';
  return path.size() >= ancestor.size() && path.substr(0, ancestor.size()) == ancestor &&
         (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

std::string relative_to(std::string_view path, std::string_view ancestor) {
  if (path.size() <= ancestor.size())
    return {};
  return std::string(path.substr(ancestor == "/" ? 1 : ancestor.size() + 1));
}

std::string parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos)
    return {};
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string join(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (out.empty() || out.back() != '/')
    out += '/';
  out += name;
  return out;
}

} // namespace piorch::sandbox
