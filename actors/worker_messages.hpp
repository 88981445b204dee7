// What is said about workers of pi-subagents, which sign in at a socket of the
// orchestrator. See messages.hpp.
#pragma once

#include "actors/caf.hpp"
#include "ipc/protocol.hpp"
#include "ipc/worker_link.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

namespace piorch::actors {

// -- the orchestrator: workers of pi-subagents, which sign in at a socket ------------

// The way back to one connection; callable from any thread, also after its end.
struct worker_link_port {
  std::function<void(std::string line)> send;
  std::function<void()> shut; // after what was sent
  std::function<void()> keep; // it may be silent from here on
};
// Asio thread -> worker supervisor: a frame with the right capability has come.
struct worker_said {
  std::uint64_t link;
  pid_t pid; // of the peer
  ipc::worker_frame frame;
  worker_link_port back;
};
// Asio thread -> worker supervisor: that connection has ended.
struct worker_link_closed {
  std::uint64_t link;
};
// Worker supervisor -> external worker: a question of its wrapper; the answer goes to `back`.
struct worker_asked {
  ipc::worker_frame frame;
  worker_link_port back;
};
// Worker supervisor -> external worker: it has ended; its questions no longer matter.
struct worker_over {};
// External worker -> itself: whoever waits is told that somebody is still here.
struct heartbeat_due {};
// Worker supervisor -> client: the notification for it.
struct worker_news {
  ipc::worker_changed worker;
};

} // namespace piorch::actors
