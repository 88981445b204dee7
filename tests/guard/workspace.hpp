// A workspace for attacks, run with and without the guard, and judged from outside.
#pragma once

#include <filesystem>
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
  enum class guard { on, off };
  // Protects .env, .vscode, .pi/settings.json and way/x.conf, and .git as a directory. `input`
  // becomes the standard input; nothing if negative.
  outcome run(const std::vector<std::string>& command, guard g, int input = -1) const;
  outcome shell(const std::string& script, guard g = guard::on, int input = -1) const;

  // What is there that must not be, one line each; empty if nothing.
  std::string planted() const;

private:
  std::filesystem::path path_;
};

std::string bin(const std::string& program); // of this build

} // namespace piorch::test
