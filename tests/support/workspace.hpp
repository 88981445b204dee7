// A user's home with private files in it and a project that is a Git work tree
// with something under every kind of protected name.
#pragma once

#include "tests/support/read_file.hpp"
#include "tests/support/run.hpp"
#include "tests/support/temp_dir.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace piorch::test {

// With its parent directories.
void write_file(const std::filesystem::path& file, const std::string& text);

// What is below a directory: path -> kind, mode and content (or where a link leads).
std::map<std::string, std::string> snapshot(const std::filesystem::path& top);

// The program under test: the build's, or PIORCH_TEST_PROGRAM (an installed one).
std::string piorch_program();

class workspace {
public:
  workspace();

  const std::filesystem::path& home() const { return home_; }
  const std::filesystem::path& project() const { return project_; }
  // The directory in which home and project lie; "outside" in it is neither.
  const std::filesystem::path& top() const { return temp_.path(); }
  const std::filesystem::path& host_temp() const { return host_temp_; }

  // Files and directories that no command may change, relative to the project.
  static const std::vector<std::string>& protected_files();
  static const std::vector<std::string>& protected_directories();

  // `piorch WORDS…` in the project, with this home.
  program piorch(std::vector<std::string> words) const;
  // `piorch exec -c SCRIPT`.
  program exec(const std::string& script, std::vector<std::string> options = {}) const;
  // A program of the host, in the project and with this home.
  program host(std::vector<std::string> argv) const;
  // A person's own shell for a terminal: it has job control, its prompt is "host$ ", and $P is
  // the program under test.
  program interactive_shell() const;
  std::string host_output(std::vector<std::string> argv) const; // throws when it fails

  // A copy of the test helper in the project (the build may be in a hidden home).
  std::string add_helper() const;
  void configure(const std::string& json) const; // the trusted configuration

private:
  temp_dir temp_;
  std::filesystem::path home_, project_, host_temp_;
};

} // namespace piorch::test
