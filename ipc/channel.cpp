#include "ipc/channel.hpp"

#include "config/limits.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <cassert>
#include <utility>

namespace piorch::ipc {

namespace asio = boost::asio;

std::shared_ptr<channel> channel::make(asio::io_context& io, unique_fd socket) {
  return std::shared_ptr<channel>(new channel(io, std::move(socket)));
}

channel::channel(asio::io_context& io, unique_fd socket)
    : socket_(io, socket.release()), credit_(limits::channel_window_bytes),
      allowed_(limits::channel_window_bytes) {}

void channel::start(handlers h) {
  handlers_ = std::move(h);
  read();
}

void channel::send(frame_type type, std::string_view payload) {
  if (ended_ || shut_)
    return;
  if (queue_.size() + payload.size() > limits::channel_queue_bytes)
    return end("the peer does not read what it is sent");
  append_frame(queue_, type, payload);
  flush();
}

void channel::stream(frame_type type, std::string_view bytes) {
  assert(is_stream(type) && bytes.size() <= credit_);
  credit_ -= bytes.size();
  send(type, bytes);
}

void channel::grant(std::size_t bytes) {
  granting_ += bytes;
  // A quarter of the window at a time: few frames, and the producer never waits
  // for a consumer that keeps up.
  if (granting_ < limits::channel_window_bytes / 4)
    return;
  allowed_ += granting_;
  send(frame_type::credit, credit_payload(static_cast<std::uint32_t>(std::exchange(granting_, 0))));
}

void channel::shut() {
  shut_ = true;
  if (!ended_ && writing_.empty())
    end({});
}

void channel::drop() {
  handlers_.on_closed = nullptr;
  end({});
}

void channel::read() {
  const auto space = parser_.prepare();
  socket_.async_read_some(
      asio::buffer(space.begin, space.size),
      [self = shared_from_this()](boost::system::error_code ec, std::size_t n) {
        if (self->ended_)
          return;
        if (ec == asio::error::eof)
          return self->end(self->parser_.at_boundary() ? "" : "the peer ended within a frame");
        if (ec)
          return self->end(ec.message());
        self->parser_.commit(n);
        while (const auto f = self->parser_.next()) {
          self->take(*f);
          if (self->ended_)
            return;
        }
        if (self->parser_.broken() != nullptr)
          return self->end(std::string("the peer sent ") + self->parser_.broken());
        self->read();
      });
}

void channel::take(frame f) {
  if (f.type == frame_type::credit) {
    const auto bytes = read_credit(f.payload);
    if (!bytes || *bytes > limits::channel_window_bytes - credit_)
      return end("the peer granted more than the window");
    credit_ += *bytes;
    if (handlers_.on_credit)
      handlers_.on_credit();
    return;
  }
  if (is_stream(f.type)) {
    if (f.payload.size() > allowed_)
      return end("the peer sent more than it was allowed");
    allowed_ -= f.payload.size();
  }
  handlers_.on_frame(f);
}

void channel::flush() {
  if (!writing_.empty() || queue_.empty())
    return;
  writing_.swap(queue_);
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](boost::system::error_code ec, std::size_t) {
                      self->writing_.clear();
                      if (self->ended_)
                        return;
                      // The peer has gone: its last words are still to be read, and
                      // behind them their end.
                      if ((ec == asio::error::broken_pipe || ec == asio::error::connection_reset) &&
                          !self->shut_) {
                        self->shut_ = true;
                        self->queue_.clear();
                        return;
                      }
                      if (ec)
                        return self->end(ec.message());
                      if (self->queue_.empty() && self->shut_)
                        return self->end({});
                      self->flush();
                    });
}

void channel::end(const std::string& why) {
  if (std::exchange(ended_, true))
    return;
  boost::system::error_code ignored;
  socket_.close(ignored);
  const auto closed = std::move(handlers_.on_closed);
  if (closed)
    closed(why);
  // Not destroyed here: a handler may be what is running.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->handlers_ = {}; });
}

} // namespace piorch::ipc
