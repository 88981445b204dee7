#include "orchestration/file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace piorch::orchestration {

namespace {

template <class Call> auto retried(Call call) {
  decltype(call()) r;
  do
    r = call();
  while (r < 0 && errno == EINTR);
  return r;
}

} // namespace

error system_error(const std::string& what) {
  return {failure::fault, what + ": " + std::generic_category().message(errno)};
}

file::~file() {
  if (fd_ >= 0)
    ::close(fd_);
}

result<file> file::open(int dir, const std::string& name, int flags) {
  const int fd =
      retried([&] { return ::openat(dir, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600); });
  if (fd < 0)
    return system_error("open " + name);
  return file(fd);
}

result<file> file::open_directory(int dir, const std::string& name) {
  return open(dir, name, O_RDONLY | O_DIRECTORY);
}

result<file> file::make_directory(int dir, const std::string& name) {
  if (::mkdirat(dir, name.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("mkdir " + name);
  return open_directory(dir, name);
}

result<done> file::append(std::string_view bytes, std::uint64_t size_before) {
  auto rest = bytes;
  auto at = size_before;
  while (!rest.empty()) {
    const auto n =
        retried([&] { return ::pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(at)); });
    if (n <= 0) {
      if (n == 0)
        errno = ENOSPC;
      auto why = system_error("write");
      if (::ftruncate(fd_, static_cast<off_t>(size_before)) != 0)
        why.text += "; and the half-written line could not be taken back";
      return why;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return done{};
}

result<std::size_t> file::read_at(std::uint64_t offset, char* into, std::size_t size) const {
  const auto n = retried([&] { return ::pread(fd_, into, size, static_cast<off_t>(offset)); });
  if (n < 0)
    return system_error("read");
  return static_cast<std::size_t>(n);
}

result<std::uint64_t> file::size() const {
  struct stat st;
  if (::fstat(fd_, &st) != 0)
    return system_error("stat");
  return static_cast<std::uint64_t>(st.st_size);
}

result<bool> file::try_lock() const {
  if (retried([&] { return ::flock(fd_, LOCK_EX | LOCK_NB); }) == 0)
    return true;
  if (errno == EWOULDBLOCK)
    return false;
  return system_error("lock");
}

result<std::string> read_file(int dir, const std::string& name, std::size_t limit) {
  // Not blocking: whatever lies there instead of a file must not hold us up.
  auto f = file::open(dir, name, O_RDONLY | O_NONBLOCK);
  if (!f)
    return f.failed();
  const auto size = f->size();
  if (!size)
    return size.failed();
  if (*size > limit)
    return error{failure::fault, name + " is longer than " + std::to_string(limit) + " bytes"};
  std::string out(static_cast<std::size_t>(*size), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const auto n = f->read_at(have, out.data() + have, out.size() - have);
    if (!n)
      return n.failed();
    if (*n == 0)
      break;
    have += *n;
  }
  out.resize(have);
  return out;
}

result<done> replace_file(int dir, const std::string& name, std::string_view bytes) {
  const auto fresh = name + ".new";
  {
    auto f = file::open(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (!f)
      return f.failed();
    if (auto written = f->append(bytes, 0); !written) {
      ::unlinkat(dir, fresh.c_str(), 0);
      return written.failed();
    }
  }
  if (::renameat(dir, fresh.c_str(), dir, name.c_str()) != 0)
    return system_error("rename " + fresh);
  return done{};
}

bool is_inside(std::string_view path, std::string_view directory) {
  if (directory.empty() || path.substr(0, directory.size()) != directory)
    return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

} // namespace piorch::orchestration
