#include "ipc/stream_session.hpp"

#include "config/limits.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace piorch::ipc {

namespace asio = boost::asio;

namespace {
constexpr std::size_t read_chunk = 64u << 10;
constexpr std::size_t lines_per_turn = 64;
constexpr std::size_t write_batch = 32; // pieces of one gathered write
} // namespace

std::shared_ptr<stream_session> stream_session::make(asio::io_context& io, unique_fd in,
                                                     unique_fd out, std::size_t line_bytes) {
  return std::shared_ptr<stream_session>(
      new stream_session(io, std::move(in), std::move(out), line_bytes));
}

stream_session::stream_session(asio::io_context& io, unique_fd in, unique_fd out,
                               std::size_t line_bytes)
    : in_(io, in.release()), out_(io), grace_(io), lines_(line_bytes) {
  if (out) {
    has_out_ = true;
    out_.assign(out.release());
  }
}

void stream_session::start(handlers h) {
  handlers_ = std::move(h);
  read();
}

void stream_session::send(std::string line) {
  line += '\n';
  send_lines(shared_bytes(std::move(line)));
}

void stream_session::send_lines(shared_bytes lines) {
  // Dispatched: an answer given inside on_line counts before the next line is taken.
  asio::dispatch(in_.get_executor(), [self = shared_from_this(), l = std::move(lines)]() mutable {
    self->queue(std::move(l));
  });
}

void stream_session::shut(std::chrono::milliseconds grace) {
  asio::post(in_.get_executor(), [self = shared_from_this(), grace] {
    if (self->shut_ || self->closed_)
      return;
    self->shut_ = true;
    if (self->queued_bytes_ == 0)
      return self->close();
    self->grace_.expires_after(grace);
    self->grace_.async_wait([self](boost::system::error_code ec) {
      if (!ec)
        self->close();
    });
  });
}

void stream_session::hold() { held_ = true; }

void stream_session::release() {
  held_ = false;
  // Not from here: the caller may be inside on_line.
  asio::post(in_.get_executor(), [self = shared_from_this()] { self->take_lines(); });
}

bool stream_session::may_read() const noexcept {
  return !held_ && !ended_ && !shut_ && queued_bytes_ <= limits::client_queue_bytes;
}

void stream_session::read() {
  if (reading_ || !may_read())
    return;
  reading_ = true;
  const auto space = lines_.prepare(read_chunk);
  in_.async_read_some(asio::buffer(space.begin, space.size),
                      [self = shared_from_this()](boost::system::error_code ec, std::size_t n) {
                        self->reading_ = false;
                        if (self->ended_)
                          return;
                        self->lines_.commit(n);
                        if (ec) {
                          self->held_ = false; // what came before the end is still heard
                          if (auto half = self->lines_.finish(); half && !self->shut_)
                            self->handlers_.on_line(*half);
                          return self->end(ec == asio::error::eof ? "closed by the peer"
                                                                  : ec.message());
                        }
                        self->take_lines();
                      });
}

// Hands out lines until there is no complete one left, or the owner or the
// queue says stop; then the rest stays in the buffer and is taken later.
void stream_session::take_lines() {
  if (taking_ || reading_ || ended_)
    return;
  taking_ = true;
  for (std::size_t taken = 0; may_read(); ++taken) {
    if (taken == lines_per_turn) { // others have their turn, and answers their effect
      taking_ = false;
      return asio::post(in_.get_executor(), [self = shared_from_this()] { self->take_lines(); });
    }
    const auto line = lines_.next();
    if (!line) {
      taking_ = false;
      return read();
    }
    handlers_.on_line(*line);
  }
  taking_ = false;
}

void stream_session::queue(shared_bytes lines) {
  if (closed_ || shut_)
    return;
  queued_bytes_ += lines.size();
  queue_.push_back(std::move(lines));
  if (queued_bytes_ > limits::client_queue_bytes_max) {
    end("the peer does not read what it is sent");
    return close();
  }
  if (writing_.empty())
    write();
}

void stream_session::write() {
  std::vector<asio::const_buffer> buffers;
  while (!queue_.empty() && writing_.size() < write_batch) {
    writing_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  buffers.reserve(writing_.size());
  for (const auto& lines : writing_)
    buffers.emplace_back(lines.view().data(), lines.size());
  asio::async_write(out(), buffers,
                    [self = shared_from_this()](boost::system::error_code ec, std::size_t) {
                      if (self->closed_)
                        return;
                      if (ec) {
                        self->end(ec.message());
                        return self->close();
                      }
                      self->finish_write();
                    });
}

void stream_session::finish_write() {
  std::size_t written = 0;
  for (const auto& lines : writing_)
    written += lines.size();
  writing_.clear();
  queued_bytes_ -= written;
  if (handlers_.on_written)
    handlers_.on_written(written);
  if (!queue_.empty())
    write();
  else if (shut_)
    return close();
  take_lines();
}

void stream_session::end(const std::string& why) {
  if (std::exchange(ended_, true))
    return;
  if (const auto closed = std::move(handlers_.on_closed))
    closed(why);
}

void stream_session::close() {
  if (std::exchange(closed_, true))
    return;
  grace_.cancel();
  boost::system::error_code ignored;
  in_.close(ignored);
  out_.close(ignored);
  queue_.clear();
  queued_bytes_ = 0;
  end("closed");
  // The owner's handle goes with the connection, but not while a handler runs.
  asio::post(in_.get_executor(), [self = shared_from_this()] { self->handlers_ = {}; });
}

} // namespace piorch::ipc
