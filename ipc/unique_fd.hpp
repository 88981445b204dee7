// Owner of one file descriptor: closes it exactly once. Movable, any thread.
#pragma once

#include <unistd.h>
#include <utility>

namespace piorch::ipc {

class unique_fd {
public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (int old = std::exchange(fd_, fd); old >= 0)
      ::close(old);
  }

private:
  int fd_ = -1;
};

} // namespace piorch::ipc
