#include "sandbox/network/pipe_pool.hpp"

#include "config/network_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace piorch::sandbox::network {

constexpr std::size_t kept_free = 8;

pipe_pair pipe_pool::take() {
  if (lent_ >= most_)
    return {};
  pipe_pair out;
  if (!free_.empty()) {
    out = std::move(free_.back());
    free_.pop_back();
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
      return {};
    out.read_end.reset(ends[0]);
    out.write_end.reset(ends[1]);
    // Fails over fs.pipe-user-pages-soft; the default size works as well, slower.
    (void)::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(limits::relay_pipe_bytes));
  }
  ++lent_;
  return out;
}

void pipe_pool::give_back(pipe_pair pipe, bool is_empty) {
  --lent_;
  if (is_empty && free_.size() < kept_free)
    free_.push_back(std::move(pipe));
}

} // namespace piorch::sandbox::network
