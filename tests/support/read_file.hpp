// A file as one string.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace piorch::test {

// What can be read of it: a file below /proc fails in the middle when its process ends, and an
// iterator over the stream's buffer would throw then.
inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

} // namespace piorch::test
