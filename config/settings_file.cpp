// The one place of this room that touches the file system for the settings.
#include "config/paths.hpp"
#include "config/settings.hpp"
#include "config/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::config {

namespace {

error refuse(const std::string& file, const std::string& why) {
  return {failure::configuration_invalid, printable(file) + ": " + why};
}

// A name that is nowhere. A link that points nowhere is there: somebody meant it
// to be the configuration, so it must not turn into the defaults.
bool is_missing(const std::string& file) {
  struct stat st {};
  return ::lstat(file.c_str(), &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// Whoever writes the settings decides what every sandbox may do.
std::string who_may_write(const struct stat& st) {
  if (st.st_uid != ::geteuid() && st.st_uid != 0)
    return "belongs to another user (uid " + std::to_string(st.st_uid) + "): make it your own";
  if ((st.st_mode & S_IWOTH) && !(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX)))
    return "can be written by every user: chmod o-w it";
  return {};
}

result<std::string> read_open_file(int fd, const std::string& file) {
  struct stat st {};
  if (::fstat(fd, &st) != 0)
    return refuse(file, std::strerror(errno));
  if (!S_ISREG(st.st_mode))
    return refuse(file, "is not a regular file");
  if (auto why = who_may_write(st); !why.empty())
    return refuse(file, why);
  std::string text(piorch::limits::settings_file_bytes + 1, '\0'); // one more shows "too large"
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return refuse(file, std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0)
      break;
    used += static_cast<std::size_t>(count);
  }
  text.resize(used);
  return text;
}

// The text of the file, or nothing if there is no such file.
result<std::optional<std::string>> read_file(const std::string& file) {
  // Non-blocking, so that a FIFO in this place cannot hold us up.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    const int why = errno;
    if ((why == ENOENT || why == ENOTDIR) && is_missing(file))
      return std::optional<std::string>();
    return refuse(file, std::string("cannot be read: ") + std::strerror(why));
  }
  struct stat directory {};
  const std::string parent = file.substr(0, std::max<std::size_t>(file.rfind('/'), 1));
  if (::stat(parent.c_str(), &directory) == 0)
    if (auto why = who_may_write(directory); !why.empty()) {
      ::close(fd);
      return refuse(parent, why);
    }
  auto text = read_open_file(fd, file);
  ::close(fd);
  if (!text)
    return std::move(text).failed();
  return std::optional<std::string>(std::move(*text));
}

} // namespace

std::string find_settings_file(const paths& where) {
  for (const std::string& file : {where.settings_file, where.legacy_settings})
    if (!is_missing(file))
      return file;
  return {};
}

result<loaded_settings> load_settings(const paths& where) {
  for (const std::string& file : {where.settings_file, where.legacy_settings}) {
    auto text = read_file(file);
    if (!text)
      return std::move(text).failed();
    if (!*text)
      continue;
    auto values = parse_settings(**text, file);
    if (!values)
      return std::move(values).failed();
    return loaded_settings{std::move(*values), file};
  }
  return loaded_settings{};
}

} // namespace piorch::config
