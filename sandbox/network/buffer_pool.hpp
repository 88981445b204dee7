// Large buffers, lent to a relay only while bytes are in flight, so that an idle connection
// holds none. Bounded; when all are lent, the relay takes smaller steps. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace piorch::sandbox::network {

class buffer_pool {
public:
  using buffer = std::unique_ptr<char[]>; // of limits::relay_bulk_bytes; its content is anything

  explicit buffer_pool(std::size_t most) : most_(most) {}

  // Null if none can be had now.
  buffer take();
  void give_back(buffer b);

private:
  std::size_t most_;
  std::size_t lent_ = 0;
  std::vector<buffer> free_;
};

} // namespace piorch::sandbox::network
