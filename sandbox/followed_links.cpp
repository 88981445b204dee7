#include "sandbox/followed_links.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr unsigned max_links = 40; // as the kernel's own bound
// Ours: .pi/npm/node_modules/@scope has its links on the third level, and directories of hooks,
// extensions and skills have some dozens.
constexpr unsigned levels_at_most = 3;
constexpr std::size_t entries_at_most = 1000; // of a directory
constexpr std::size_t all_at_most = 4000;     // of a protected name

// The components of `path` before those of `rest`.
void prepend(std::string_view path, std::vector<std::string>& rest) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (slash > 0 && path.substr(0, slash) != ".")
      parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  rest.insert(rest.begin(), parts.begin(), parts.end());
}

struct entry {
  std::string name;
  bool link = false;
};

// The links and directories of a directory, which is not reached through a link.
std::vector<entry> entries_of(const std::string& path, std::size_t at_most) {
  std::vector<entry> out;
  ipc::unique_fd fd(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DIR* entries = fd ? ::fdopendir(fd.get()) : nullptr;
  if (!entries)
    return out;
  fd.release();
  for (const dirent* e = ::readdir(entries); e && at_most > 0; e = ::readdir(entries)) {
    const std::string name = e->d_name;
    if (name == "." || name == "..")
      continue;
    --at_most;
    unsigned char type = e->d_type;
    struct stat st {};
    if (type == DT_UNKNOWN && // some file systems do not say
        ::fstatat(::dirfd(entries), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
      type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
    if (type == DT_LNK || type == DT_DIR)
      out.push_back({name, type == DT_LNK});
  }
  ::closedir(entries);
  return out;
}

class follower {
public:
  follower(const std::string& workspace, std::string_view reason, std::vector<protected_path>& out)
      : workspace_(workspace), reason_(reason), out_(out) {}

  // Where `path` leads in the end, there or not; nullopt when that cannot be found out.
  std::optional<std::string> follow(const std::string& path, const std::string& covered = {}) {
    std::string here;
    std::vector<std::string> rest;
    set_out(path, here, rest);
    bool followed = false;
    for (unsigned links = 0; !rest.empty();) {
      const std::string part = rest.front();
      rest.erase(rest.begin());
      if (part == "..") {
        here.erase(std::min(here.rfind('/'), here.size()));
        continue;
      }
      const std::string at = here + "/" + part;
      if (is_hidden(at)) {
        add(here, closed_directory, true);
        return std::nullopt;
      }
      char target[4096];
      const ssize_t n = ::readlink(at.c_str(), target, sizeof target);
      if (n < 0) { // not a link, or not there
        here = at;
        continue;
      }
      if (++links > max_links || n == static_cast<ssize_t>(sizeof target))
        return std::nullopt;
      if (covered.empty() || !is_within(at, covered))
        add(at, reason_ + " (a link)", true);
      followed = true;
      const std::string to(target, static_cast<std::size_t>(n));
      if (to.front() == '/')
        set_out(to, here, rest);
      else
        prepend(to, rest);
    }
    if (here.empty())
      return std::nullopt;
    if (covered.empty() || !is_within(here, covered))
      add(here, followed ? reason_ + " (" + shown(path) + " leads here)" : reason_, exists(here));
    return here;
  }

  void follow_entries(const std::string& top) {
    std::vector<std::string> level{top};
    std::size_t left = all_at_most;
    for (unsigned depth = 0; depth < levels_at_most; ++depth) {
      std::vector<std::string> below;
      for (const std::string& directory : level)
        for (const entry& e : entries_of(directory, std::min(left, entries_at_most))) {
          if (left-- == 0)
            return;
          const std::string path = join(directory, e.name);
          if (const auto to = e.link ? follow(path, top) : path; to && !is_above(*to))
            below.push_back(*to);
        }
      level = std::move(below);
    }
  }

private:
  // The workspace's own path has no links.
  void set_out(std::string_view path, std::string& here, std::vector<std::string>& rest) const {
    const bool inside = is_within(path, workspace_);
    here = inside ? workspace_ : std::string();
    prepend(inside ? path.substr(workspace_.size()) : path, rest);
  }

  // It cannot be protected from work on it, so there is nothing to find in it.
  bool is_above(const std::string& path) const { return is_within(workspace_, path); }

  std::string shown(const std::string& path) const {
    return is_within(path, workspace_) ? relative_to(path, workspace_) : path;
  }

  void add(const std::string& path, const std::string& reason, bool present) {
    if (is_within(path, workspace_) && path != workspace_)
      out_.push_back({relative_to(path, workspace_), reason, present});
  }

  const std::string& workspace_;
  const std::string reason_;
  std::vector<protected_path>& out_;
};

} // namespace

void add_followed(const std::string& workspace, const std::string& path, std::string_view reason,
                  entries of_directory, std::vector<protected_path>& out) {
  follower f(workspace, reason, out);
  const auto to = f.follow(path);
  if (to && of_directory == entries::followed && !is_within(workspace, *to))
    f.follow_entries(*to);
}

} // namespace piorch::sandbox
