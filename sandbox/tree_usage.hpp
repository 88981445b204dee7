// What process trees use right now, read off /proc. Any thread; takes about as long as
// `ps` does, so whoever calls it bounds how often.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <sys/types.h>

namespace piorch::sandbox {

struct tree_usage {
  double cpu_seconds = 0;      // of what lives, with what it has waited for
  std::uint64_t rss_bytes = 0; // the sum; shared pages count for each
  std::uint64_t processes = 0;
};

// Of each root, the tree below it without itself. A root that is gone uses nothing.
std::map<pid_t, tree_usage> measure_trees(const std::set<pid_t>& roots);

} // namespace piorch::sandbox
