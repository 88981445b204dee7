// A directory of a test's own, removed with everything in it at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace piorch::test {

class temp_dir {
public:
  temp_dir() {
    std::string form = std::filesystem::temp_directory_path() / "piorch-test-XXXXXX";
    if (!::mkdtemp(form.data()))
      throw std::runtime_error("mkdtemp");
    path_ = form;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

} // namespace piorch::test
