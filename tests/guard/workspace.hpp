// A workspace for attacks, run with and without the guard, and judged from outside.
#pragma once

#include "tests/support/watched_tree.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace piorch::test {

class workspace {
public:
  // Below /var/tmp, which the sandboxes of these tests leave as it is.
  explicit workspace(bool with_repository = true);
  ~workspace();
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;

  const std::filesystem::path& path() const { return path_; }

  struct outcome {
    int status = -1;      // of the command, 128+N for a signal
    std::string output;   // stdout and stderr
    std::string refusals; // "path: rule" lines
  };
  // As before Linux 5.19; as on a file system that has no O_TMPFILE.
  enum class guard { on, off, interruptible, no_nameless_files };
  // Protects .env, .vscode, .pi/settings.json and way/x.conf, .git as a directory,
  // .pi-subagents, in which only files and directories come into being, and what villain/trees.cpp
  // names. In own/ it is another directory than the host's. `input`
  // becomes the standard input; nothing if negative.
  outcome run(const std::vector<std::string>& command, guard g, int input = -1) const;
  outcome shell(const std::string& script, guard g = guard::on, int input = -1) const;

  // What is there that must not be, or was there for a moment, one line each; empty if nothing.
  std::string planted() const;
  // All names that the host has seen appear in the directories of the beginning.
  const std::set<std::string>& seen() const;

private:
  std::filesystem::path path_;
  std::unique_ptr<watched_tree> host_;
  mutable std::set<std::string> seen_;
};

std::string bin(const std::string& program); // of this build

} // namespace piorch::test
