// One connection that speaks lines: a stream socket, or a pair of descriptors
// (stdin and stdout). One read and one write in flight; a bounded queue of lines
// to write. A peer that does not read is not read from: while more than
// limits::client_queue_bytes wait for it, no further line is taken; beyond
// client_queue_bytes_max it is dropped.
//
// Lives on the Asio thread, except send() and shut(), which any thread may call.
// The owner keeps a weak_ptr; pending operations keep the session alive until
// the connection has ended. SIGPIPE must be ignored in the process.
#pragma once

#include "config/limits.hpp"
#include "ipc/line_buffer.hpp"
#include "ipc/shared_bytes.hpp"
#include "ipc/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::ipc {

class stream_session : public std::enable_shared_from_this<stream_session> {
public:
  // All on the Asio thread.
  struct handlers {
    std::function<void(line_buffer::line)> on_line; // views end with the call
    std::function<void(std::size_t)> on_written;    // bytes that left the queue; may be empty
    // Nothing more will come; called once, nothing after it but on_written. Lines
    // sent now are still written, if the peer reads them, until shut().
    std::function<void(const std::string& why)> on_closed;
  };

  // `out` empty: `in` is a socket, used in both directions.
  static std::shared_ptr<stream_session> make(boost::asio::io_context& io, unique_fd in,
                                              unique_fd out = {},
                                              std::size_t line_bytes = limits::protocol_line_bytes);

  // Once, on the Asio thread.
  void start(handlers h);
  // Any thread. Queues one line; the LF is added.
  void send(std::string line);
  // Any thread. Queues whole lines with their LFs, which others may write, too.
  void send_lines(shared_bytes lines);
  // Any thread. Ends the connection when what is queued has been written, at the
  // latest after `grace`.
  void shut(std::chrono::milliseconds grace = std::chrono::milliseconds(1000));

  // Asio thread. Stops and resumes taking lines, for owners with too much to do.
  void hold();
  void release();

private:
  stream_session(boost::asio::io_context& io, unique_fd in, unique_fd out, std::size_t line_bytes);

  void read();
  void take_lines();
  void queue(shared_bytes lines);
  void write();
  void finish_write();
  void end(const std::string& why);
  void close();
  bool may_read() const noexcept;
  boost::asio::posix::stream_descriptor& out() noexcept { return has_out_ ? out_ : in_; }

  boost::asio::posix::stream_descriptor in_;
  boost::asio::posix::stream_descriptor out_;
  boost::asio::steady_timer grace_;
  handlers handlers_;
  line_buffer lines_;
  std::deque<shared_bytes> queue_;    // waiting
  std::vector<shared_bytes> writing_; // in flight
  std::size_t queued_bytes_ = 0;      // of both
  bool has_out_ = false;
  bool reading_ = false;
  bool taking_ = false;
  bool held_ = false;
  bool ended_ = false;  // on_closed was called
  bool shut_ = false;   // close when the queue is empty
  bool closed_ = false; // descriptors are gone
};

} // namespace piorch::ipc
