// Warm copies of Node's compile cache, so that a worker does not compile Pi anew: one
// for each Node and Pi, below the state directory, shown to workers read-only. It is
// made by a Pi that has seen nothing of anybody's (no model, no network, an empty
// workspace), for what lies in it is run by every later worker. Any thread.
#pragma once

#include "config/result.hpp"
#include "orchestration/worker_launch.hpp"

#include <string>

namespace piorch::orchestration {

class compile_cache {
public:
  // `directory` is made when the first copy is.
  explicit compile_cache(std::string directory) : directory_(std::move(directory)) {}

  // The copy for this Node and Pi; empty: there is none, or `workspace`, whose command
  // could write in it, contains it.
  std::string find(const pi_installation& pi, const std::string& workspace) const;

  // A fresh directory for the program that makes the copy. Not made when somebody else
  // is at it (failure::limit_reached).
  struct preparation {
    std::string directory; // its workspace
    std::string cache;     // in it: what NODE_COMPILE_CACHE shall name
    std::string final;     // where it will lie
  };
  result<preparation> prepare(const pi_installation& pi) const;
  // The copy is complete; older ones go.
  result<done> keep(const preparation& p) const;
  static void drop(const preparation& p);

  // How that program is started, and what it is told first.
  static worker_launch launch(const pi_installation& pi, const preparation& p,
                              std::map<std::string, std::string> environment);
  static std::string first_line();
  // Whether it said that it is through.
  static bool is_last_line(std::string_view output);

private:
  std::string name_for(const pi_installation& pi) const;
  std::string directory_;
};

} // namespace piorch::orchestration
