// Pipes for splice(2), lent to a relay only while bytes are in flight, so that
// an idle connection holds none. Bounded; when all are lent, or the process has
// no descriptor left, the relay copies instead. One thread.
#pragma once

#include "ipc/unique_fd.hpp"

#include <cstddef>
#include <vector>

namespace piorch::sandbox::network {

struct pipe_pair {
  ipc::unique_fd read_end;
  ipc::unique_fd write_end;
  explicit operator bool() const { return static_cast<bool>(read_end); }
};

class pipe_pool {
public:
  explicit pipe_pool(std::size_t most) : most_(most) {}

  // Empty if none can be had now.
  pipe_pair take();
  // Only an empty pipe may be lent again; one with bytes in it is closed, or
  // they would end up in somebody else's connection.
  void give_back(pipe_pair pipe, bool is_empty);

  std::size_t lent() const { return lent_; }

private:
  std::size_t most_;
  std::size_t lent_ = 0;
  std::vector<pipe_pair> free_;
};

} // namespace piorch::sandbox::network
