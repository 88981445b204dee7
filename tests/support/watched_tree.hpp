// Every name that appears, from now on, in the directories that a tree has now: seen from the
// host, whoever makes it and however short it lives.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>

namespace piorch::test {

class watched_tree {
public:
  explicit watched_tree(const std::filesystem::path& root)
      : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    watch(root, "");
    for (const auto& e : std::filesystem::recursive_directory_iterator(root))
      if (e.is_directory() && !e.is_symlink())
        watch(e.path(), e.path().lexically_relative(root).string() + "/");
  }
  watched_tree(const watched_tree&) = delete;
  watched_tree& operator=(const watched_tree&) = delete;
  ~watched_tree() { ::close(fd_); }

  // Relative to the root.
  std::set<std::string> names() {
    std::set<std::string> out;
    alignas(inotify_event) char buffer[65536];
    for (ssize_t n; (n = ::read(fd_, buffer, sizeof buffer)) > 0;)
      for (ssize_t at = 0; at < n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        out.insert(event->mask & IN_Q_OVERFLOW ? std::string("(too many events)")
                                               : places_[event->wd] + event->name);
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
    return out;
  }

private:
  void watch(const std::filesystem::path& directory, const std::string& prefix) {
    places_[::inotify_add_watch(fd_, directory.c_str(), IN_CREATE | IN_MOVED_TO)] = prefix;
  }

  int fd_;
  std::map<int, std::string> places_;
};

} // namespace piorch::test
