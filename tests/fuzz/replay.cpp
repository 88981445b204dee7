// Stands in for libFuzzer where there is none: runs a fuzz target over every file
// of a directory once.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

int main(int argc, char** argv) {
  std::size_t count = 0;
  if (argc == 2)
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
      std::printf("%s\n", entry.path().filename().c_str());
      std::fflush(stdout); // a crash must not hide which file it was
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      ++count;
    }
  std::printf("%zu inputs\n", count);
  return count == 0; // an empty corpus would prove nothing
}
