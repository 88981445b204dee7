#include "sandbox/private_copies.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

// Of one directory: a compile cache has 200 files and 6 MiB.
constexpr std::size_t tree_entries = 4096;
constexpr std::uint64_t tree_bytes = 64u << 20;
constexpr int tree_depth = 8;
constexpr std::uint64_t file_bytes = 16u << 20;

error not_copied(const std::string& what, const std::string& why) {
  return {failure::sandbox_unavailable, "cannot give the sandbox its copy of " + what + ": " + why};
}

ipc::unique_fd open_directory(int parent, const char* name) {
  return ipc::unique_fd(
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

// Takes what was copied off `left`; what stays of it when all went well is what the file has become
// shorter by.
bool send_all(int to, int from, std::uint64_t& left) {
  while (left > 0) {
    const ssize_t n = ::sendfile(to, from, nullptr, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n == 0;
    left -= static_cast<std::uint64_t>(n);
  }
  return true;
}

// Of a directory that other accounts may have put in this place, only what is ours.
class tree_copier {
public:
  // 0 or errno. What is left out is no error.
  int copy(int from, int to, int depth) {
    const int listing = ::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* entries = listing < 0 ? nullptr : ::fdopendir(listing);
    if (!entries) {
      if (listing >= 0)
        ::close(listing);
      return 0;
    }
    int error = 0;
    while (const dirent* e = error ? nullptr : ::readdir(entries))
      if (std::strcmp(e->d_name, ".") != 0 && std::strcmp(e->d_name, "..") != 0)
        error = copy_entry(from, to, e->d_name, depth);
    ::closedir(entries);
    return error;
  }

private:
  int copy_entry(int from, int to, const char* name, int depth) {
    struct stat st {};
    if (++entries_ > tree_entries || ::fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        st.st_uid != ::geteuid())
      return 0;
    if (S_ISDIR(st.st_mode)) {
      const ipc::unique_fd down =
          depth < tree_depth ? open_directory(from, name) : ipc::unique_fd();
      if (!down)
        return 0;
      if (::mkdirat(to, name, 0700) != 0)
        return errno;
      const ipc::unique_fd made = open_directory(to, name);
      return made ? copy(down.get(), made.get(), depth + 1) : errno;
    }
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (!S_ISREG(st.st_mode) || size > tree_bytes - bytes_)
      return 0;
    const ipc::unique_fd in(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!in)
      return 0;
    bytes_ += size;
    const ipc::unique_fd out(
        ::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out)
      return errno;
    std::uint64_t left = size;
    const int error = send_all(out.get(), in.get(), left) ? 0 : errno;
    if (left > 0) // half a file of a cache is worse than none
      ::unlinkat(to, name, 0);
    return error;
  }

  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

// The directory of `path` below `base`, made where it is missing; `path` becomes the last name.
ipc::unique_fd make_way(int base, std::string& path) {
  ipc::unique_fd here(::fcntl(base, F_DUPFD_CLOEXEC, 3));
  for (std::size_t slash; here && (slash = path.find('/')) != std::string::npos;) {
    const std::string name = path.substr(0, slash);
    path.erase(0, slash + 1);
    if (::mkdirat(here.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
      return {};
    here = open_directory(here.get(), name.c_str());
  }
  return here;
}

ipc::unique_fd make_file(int way, const char* name) {
  return ipc::unique_fd(
      ::openat(way, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

result<done> copy_file(const private_copy& what, int way, const char* name) {
  const ipc::unique_fd in(::open(what.from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat st {};
  if (!in)
    return errno == ENOENT ? result<done>(done{}) : not_copied(what.from, std::strerror(errno));
  if (::fstat(in.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return not_copied(what.from, "it is no regular file");
  if (static_cast<std::uint64_t>(st.st_size) > file_bytes)
    return not_copied(what.from, "it is larger than 16 MiB");
  const ipc::unique_fd out = make_file(way, name);
  auto left = static_cast<std::uint64_t>(st.st_size);
  if (!out || !send_all(out.get(), in.get(), left))
    return not_copied(what.from, std::strerror(errno));
  return done{};
}

result<done> write_text(const private_copy& what, int way, const char* name) {
  const ipc::unique_fd out = make_file(way, name);
  std::string_view rest = *what.text;
  while (out && !rest.empty()) {
    const ssize_t n = ::write(out.get(), rest.data(), rest.size());
    if (n < 0 && errno != EINTR)
      return not_copied(what.from, std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return out ? result<done>(done{}) : not_copied(what.from, std::strerror(errno));
}

result<done> copy_tree(const private_copy& what, int from, int way, const char* name) {
  if (::mkdirat(way, name, 0700) != 0 && errno != EEXIST)
    return not_copied(what.from, std::strerror(errno));
  const ipc::unique_fd to = open_directory(way, name);
  tree_copier copier;
  const int error = to ? copier.copy(from, to.get(), 0) : errno;
  return error ? result<done>(not_copied(what.from, std::strerror(error))) : done{};
}

} // namespace

result<done> make_own_directories(const std::vector<own_directory>& own, const scratch& temp) {
  if (own.empty())
    return done{};
  if (temp.path().empty())
    return error{failure::sandbox_unavailable,
                 "no private temporary directory could be made, and this program needs one"};
  for (const own_directory& one : own)
    if (::mkdirat(temp.directory(), one.name.c_str(), 0700) != 0)
      return error{failure::sandbox_unavailable,
                   "cannot make a private directory for " + one.path + ": " + std::strerror(errno)};
  return done{};
}

result<done> place_private_copies(const std::vector<private_copy>& copies, const scratch& temp) {
  for (const private_copy& what : copies) {
    std::string name = what.to;
    const ipc::unique_fd way = make_way(temp.directory(), name);
    if (!way)
      return not_copied(what.from, std::strerror(errno));
    if (what.text) {
      if (auto written = write_text(what, way.get(), name.c_str()); !written)
        return written;
      continue;
    }
    // Its own name may be a link: people keep their settings in a repository.
    const ipc::unique_fd tree(
        ::open(what.from.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st {};
    const bool is_tree = tree && ::fstat(tree.get(), &st) == 0;
    if (!what.needed && (!is_tree || st.st_uid != ::geteuid()))
      continue;
    auto copied = is_tree ? copy_tree(what, tree.get(), way.get(), name.c_str())
                          : copy_file(what, way.get(), name.c_str());
    if (!copied && what.needed)
      return copied;
  }
  return done{};
}

} // namespace piorch::sandbox
