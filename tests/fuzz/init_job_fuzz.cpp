// fuzz: config
// Bytes as piorch-init's job. Whatever they are: refused, or every text ends in its
// mapping, every mount has its root and there is a command under a filter.
#include "tests/fuzz/require.hpp"
#include "tools/piorch-init/job.cpp" // in no library: piorch-init is static and alone

#include <cstdint>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const int fd = ::memfd_create("job", MFD_CLOEXEC);
  PIORCH_REQUIRE(::write(fd, bytes, size) == static_cast<ssize_t>(size));
  piorch::init::job j;
  if (piorch::init::read_job(fd, j)) {
    PIORCH_REQUIRE(j.arguments.size() >= 2 && j.arguments.back() == nullptr);
    PIORCH_REQUIRE(j.environment.back() == nullptr);
    PIORCH_REQUIRE(j.filter.len > 0 && j.filter.len <= BPF_MAXINSNS);
    PIORCH_REQUIRE(j.terminal >= -1 && j.terminal <= 2);
    std::size_t texts = std::strlen(j.directory);
    for (std::size_t i = 0; i + 1 < j.arguments.size(); ++i)
      texts += std::strlen(j.arguments[i]);
    for (std::size_t i = 0; i + 1 < j.environment.size(); ++i)
      texts += std::strlen(j.environment[i]);
    for (const auto& r : j.roots) {
      PIORCH_REQUIRE(r.path[0] == '/');
      texts += std::strlen(r.path);
    }
    for (const auto& m : j.mounts) {
      PIORCH_REQUIRE(m.what.root < j.roots.size());
      texts += std::strlen(m.path);
    }
    PIORCH_REQUIRE(texts <= size);
  }
  if (j.bytes)
    ::munmap(j.bytes, j.size);
  ::close(fd);
  return 0;
}
