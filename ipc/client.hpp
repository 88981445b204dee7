// The client side of the protocol for programs with nothing else to wait for: one
// connection, plain poll(), no thread, no CAF. Requests may be in flight while
// notifications and requests of the server arrive; the caller takes one message
// at a time. One thread.
#pragma once

#include "ipc/instance.hpp"
#include "ipc/jsonrpc.hpp"
#include "ipc/line_buffer.hpp"
#include "ipc/protocol.hpp"
#include "ipc/unique_fd.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace piorch::ipc {

class client {
public:
  using clock = std::chrono::steady_clock;

  // A connection to NAME's socket, if a process of our user answers there.
  // failure::unreachable: nobody does.
  static result<client> connect(const instance_directory& dir, const std::string& name,
                                std::chrono::milliseconds limit);
  // Takes over a connected stream socket.
  explicit client(unique_fd socket);

  struct incoming {
    enum class kind {
      message,  // `message` is valid
      woken,    // the wake descriptor became readable
      too_late, // the deadline passed
    };
    kind what;
    rpc_message message;
  };

  // Queues a request (or notification, answer); receive() writes it. The number is
  // the request's id.
  long long request(const rpc_call& call);
  void answer(const rpc_id& id, const nlohmann::json& result);
  void refuse(const rpc_id& id, const rpc_error& error);

  // The next message. `wake`: a further descriptor to wait for, or -1.
  // failure::unreachable when the connection is lost.
  result<incoming> receive(std::optional<clock::time_point> until = {}, int wake = -1);
  // The next message of any of several connections, or how one was lost. `index` says
  // whose; beyond the peers: which of `others` (events to wait for filled in) is ready,
  // with kind::woken. Nobody's when the deadline has passed.
  struct from_one;
  static from_one receive_any(const std::vector<client*>& peers,
                              std::optional<clock::time_point> until = {},
                              const std::vector<pollfd>& others = {});
  // Writes what is queued.
  result<done> flush(clock::time_point until);

  // Sends and waits for the answer; what else arrives goes to on_other, or without one to
  // the next receive(). An error answer comes back as the failure it was.
  result<nlohmann::json> call(const rpc_call& call, std::chrono::milliseconds limit);
  std::function<void(rpc_message&)> on_other;

  // The answer to request `id`, if this message is it.
  static std::optional<result<nlohmann::json>> answer_to(long long id, rpc_message& message);

private:
  result<incoming> receive_new(std::optional<clock::time_point> until, int wake);
  result<bool> transfer(std::optional<clock::time_point> until, int wake, bool stop_when_sent);
  result<done> write_some();
  result<done> read_some();

  unique_fd socket_;
  line_buffer lines_;
  std::deque<rpc_message> kept_; // came while call() waited for its answer
  std::string out_;
  std::size_t written_ = 0;
  long long next_id_ = 1;
  bool woken_ = false;
};

struct client::from_one {
  std::size_t index;
  result<incoming> what;
};

} // namespace piorch::ipc
