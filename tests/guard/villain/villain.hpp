// A program that tries to make protected names, one way per name. Every attack runs in the
// workspace the test prepared (tests/guard/workspace.hpp) and does not judge
// itself: the test looks at the workspace from outside afterwards.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace villain {

struct attack {
  std::string name;
  void (*run)(const std::string& argument);
  std::string argument;
};

void add_spelling_attacks(std::vector<attack>& list); // every call times every spelling
void add_path_attacks(std::vector<attack>& list);     // parents, links, races for one name
void add_kernel_attacks(std::vector<attack>& list);   // around the filter and the supervisor
void add_git_settings_attacks(std::vector<attack>& list);
void add_git_directory_attacks(std::vector<attack>& list);
void add_git_state_attacks(std::vector<attack>& list);
void add_git_file_attacks(std::vector<attack>& list);
void add_plain_attacks(std::vector<attack>& list);
void add_tree_attacks(std::vector<attack>& list);

int race(int seconds, int only); // villain/race.cpp
int operations(unsigned seed);   // villain/operations.cpp: prints results, to be compared
int stress(const char* what);    // villain/stress.cpp

inline void write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd >= 0 && ::write(fd, text.data(), text.size()) < 0)
    std::perror(path.c_str());
  if (fd >= 0)
    ::close(fd);
}

} // namespace villain
