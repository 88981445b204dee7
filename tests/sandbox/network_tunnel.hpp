// What the tests of tunnels have in common.
#pragma once

#include "tests/sandbox/network_example.hpp"

#include "config/network_limits.hpp"

namespace piorch::test {

inline std::size_t open_descriptors() {
  std::size_t n = 0;
  for (int fd = 0; fd < 8192; ++fd)
    if (::fcntl(fd, F_GETFD) != -1)
      ++n;
  return n;
}

class SandboxNetworkTunnel : public network_example {
protected:
  peer opened(std::uint16_t port = 443) {
    auto p = http();
    EXPECT_TRUE(tunnel(p, "www.example.org:" + std::to_string(port)));
    return p;
  }
  // Nothing is left to do and nobody does anything.
  void expect_rest() {
    EXPECT_TRUE(becomes_idle());
    const auto before = loop_cpu_seconds();
    std::this_thread::sleep_for(300ms);
    EXPECT_LT(loop_cpu_seconds() - before, 0.1) << "the loop spins";
  }
};

} // namespace piorch::test
