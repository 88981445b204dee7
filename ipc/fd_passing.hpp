// Descriptors over a Unix socket (SCM_RIGHTS): one message, its bytes and at
// most max_passed_fds descriptors, which arrive close-on-exec. Any thread.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace piorch::ipc {

inline constexpr std::size_t max_passed_fds = 16;

// `bytes` must not be empty (a stream socket loses descriptors without a byte).
// On a stream socket all of `bytes` is sent or it is an error: keep them short.
// The caller keeps its descriptors.
result<done> send_fds(int socket, std::string_view bytes, const std::vector<int>& fds);

struct received_fds {
  std::size_t bytes = 0; // 0: the peer has closed
  std::vector<unique_fd> fds;
};
// Waits for one message (as the socket does). Truncated descriptors, or more of
// them than `most_fds`, are an error and all are closed.
result<received_fds> receive_fds(int socket, char* buffer, std::size_t size, std::size_t most_fds);

} // namespace piorch::ipc
