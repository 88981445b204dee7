// Side-by-side measurements: several ways of doing one thing, one round of each
// in turn, so that whatever else the machine does hits all of them alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace piorch::bench {

// Runs a program to its end; exits the benchmark when it fails.
inline void run(const std::vector<std::string>& words, const std::string& directory) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addchdir_np(&files, directory.c_str());
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  int status = 0;
  if (::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ) != 0 ||
      ::waitpid(pid, &status, 0) != pid || status != 0) {
    std::fprintf(stderr, "%s failed (wait status %d)\n", words[0].c_str(), status);
    std::exit(1);
  }
  ::posix_spawn_file_actions_destroy(&files);
}

struct way {
  std::string name;
  std::function<void()> once;
  int every = 1; // a slow way may take part in every n-th round only
  std::vector<double> ms = {};
};

inline double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints medians, minima and the ratio to the way named `base` (an index): of the medians, and
// the median of each round's own ratio, which a machine that is slower for a while does not move.
inline void compare(const char* title, std::vector<way>& ways, int rounds, std::size_t base) {
  for (int round = 0; round < rounds; ++round)
    for (way& w : ways)
      if (round % w.every == 0) {
        const auto begin = std::chrono::steady_clock::now();
        w.once();
        w.ms.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count());
      }
  std::printf("%s (%d rounds)\n%-44s %10s %10s %8s %8s\n", title, rounds, "", "median ms", "min ms",
              "ratio", "a round");
  const double unit = median(ways[base].ms);
  for (way& w : ways) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < w.ms.size(); ++i)
      ratios.push_back(w.ms[i] / ways[base].ms[i * static_cast<std::size_t>(w.every)]);
    std::printf("%-44s %10.2f %10.2f %8.3f %8.3f\n", w.name.c_str(), median(w.ms),
                *std::min_element(w.ms.begin(), w.ms.end()), median(w.ms) / unit, median(ratios));
  }
  std::fflush(stdout);
}

} // namespace piorch::bench
