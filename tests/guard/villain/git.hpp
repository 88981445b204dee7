// What the attacks on Git directories have in common.
#pragma once

#include "villain.hpp"

namespace villain {

inline const std::string evil =
    "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch planted\n";

inline void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0)
    std::fprintf(stderr, "failed: %s\n", command.c_str());
}
inline int open_write(const std::string& path, int flags = O_WRONLY | O_TRUNC) {
  const int fd = ::open(path.c_str(), flags, 0644);
  if (fd < 0)
    std::perror(path.c_str());
  else if (::write(fd, evil.data(), evil.size()) < 0)
    std::perror("write");
  return fd;
}

inline void add_git_attack(std::vector<attack>& list, const char* name,
                           void (*run)(const std::string&)) {
  list.push_back({std::string("git-") + name, run, ""});
}

} // namespace villain
