#include "sandbox/network/buffer_pool.hpp"

#include "config/network_limits.hpp"

#include <new>
#include <utility>

namespace piorch::sandbox::network {

constexpr std::size_t kept_free = 2; // a transfer, and what comes back meanwhile

buffer_pool::buffer buffer_pool::take() {
  if (lent_ >= most_)
    return {};
  buffer out;
  if (!free_.empty()) {
    out = std::move(free_.back());
    free_.pop_back();
  } else {
    out.reset(new (std::nothrow) char[limits::relay_bulk_bytes]);
  }
  lent_ += out ? 1 : 0;
  return out;
}

void buffer_pool::give_back(buffer b) {
  --lent_;
  if (free_.size() < kept_free)
    free_.push_back(std::move(b));
}

} // namespace piorch::sandbox::network
