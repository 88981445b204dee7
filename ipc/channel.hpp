// The line between an orchestrator and one broker: frames over a socketpair, with
// credit for the bytes of streams, so that a consumer that stops reading stops
// the producer and nothing piles up in between.
//
// Both ends start with limits::channel_window_bytes of credit per direction. A
// stream frame spends credit; the receiver gives it back with grant() once the
// bytes have left its hands. A peer that sends more than it was allowed, or what
// is no frame, is cut off: on_closed with the reason.
//
// Asio thread only. Handlers hold the owner; they are dropped when the channel
// has ended.
#pragma once

#include "ipc/channel_frame.hpp"
#include "ipc/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace piorch::ipc {

class channel : public std::enable_shared_from_this<channel> {
public:
  struct handlers {
    std::function<void(frame)> on_frame;               // never credit; views end with the call
    std::function<void()> on_credit;                   // more may be streamed; may be empty
    std::function<void(const std::string&)> on_closed; // once; empty text: the peer closed
  };

  static std::shared_ptr<channel> make(boost::asio::io_context& io, unique_fd socket);

  void start(handlers h);
  // For everything but stream frames. A peer that lets limits::channel_queue_bytes
  // of them wait is cut off.
  void send(frame_type type, std::string_view payload = {});
  // At most credit() bytes and limits::channel_chunk_bytes.
  void stream(frame_type type, std::string_view bytes);
  // What may be streamed now.
  std::size_t credit() const noexcept { return credit_; }
  // `bytes` received stream bytes are done with. Sent in few frames.
  void grant(std::size_t bytes);
  // Ends when what is queued was sent.
  void shut();
  // Ends now. on_closed is not called.
  void drop();

private:
  channel(boost::asio::io_context& io, unique_fd socket);

  void read();
  void take(frame f);
  void flush();
  void end(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  handlers handlers_;
  frame_parser parser_;
  std::string queue_;
  std::string writing_;
  std::size_t credit_;       // we may still stream so much
  std::size_t allowed_;      // the peer may still stream so much
  std::size_t granting_ = 0; // done with, not yet told
  bool shut_ = false;
  bool ended_ = false;
};

} // namespace piorch::ipc
