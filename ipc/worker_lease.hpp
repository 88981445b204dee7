// A worker's wrapper registers with its supervisor: one connection that lives as long as the
// worker. Blocking, with a deadline; one thread.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"
#include "ipc/worker_link.hpp"

#include <chrono>
#include <string>

namespace piorch::ipc {

struct worker_lease {
  unique_fd socket; // nothing is left unread in it
  worker_reply granted;
};

// failure::unreachable: nobody of our own user answers at that path in time;
// failure::session_failed: the supervisor said no, and why.
result<worker_lease> register_worker(const std::string& socket_path, const worker_frame& frame,
                                     std::chrono::milliseconds limit);

} // namespace piorch::ipc
