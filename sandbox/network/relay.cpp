#include "sandbox/network/relay.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// How many steps one connection may take before the others have their turn.
constexpr int steps_per_turn = 8;

bool would_block(int e) { return e == EAGAIN || e == EWOULDBLOCK; }

} // namespace

relay_resources::relay_resources(std::chrono::steady_clock::duration half_closed_time)
    : pipes(limits::relay_pipes), buffer(limits::relay_buffer_bytes),
      half_closed(half_closed_time) {}

relay::relay(socket client, socket server, std::string to_server, std::string to_client,
             std::shared_ptr<relay_resources> shared, std::function<void()> on_end)
    : client_(std::move(client)), server_(std::move(server)), shared_(std::move(shared)),
      on_end_(std::move(on_end)) {
  up_.held = std::move(to_server);
  down_.held = std::move(to_client);
}

relay::~relay() {
  return_pipe(up_);
  return_pipe(down_);
}

void relay::start() {
  error_code ec;
  client_.native_non_blocking(true, ec);
  if (!ec)
    server_.native_non_blocking(true, ec);
  if (ec) {
    abort();
    return;
  }
  pump(down_);
  if (!closed_)
    pump(up_);
}

void relay::abort() {
  if (closed_)
    return;
  reset_on_close(client_);
  reset_on_close(server_);
  close();
}

void relay::close() {
  closed_ = true;
  error_code ignored;
  client_.close(ignored); // cancels the waits, whose handlers hold us
  server_.close(ignored);
  if (half_closed_)
    half_closed_->cancel();
  if (auto f = std::move(on_end_))
    f();
}

void relay::pump(way& w) {
  for (int i = 0; i < steps_per_turn; ++i) {
    switch (step(w)) {
      case progress::moved:
        moved_since_ = true;
        break;
      case progress::wait_to_read:
        return wait(w, false);
      case progress::wait_to_write:
        return wait(w, true);
      case progress::ended:
        w.done = true;
        return on_way_done();
      case progress::failed:
        return abort();
    }
  }
  asio::post(client_.get_executor(), [self = shared_from_this(), &w] {
    if (!self->closed_)
      self->pump(w);
  });
}

void relay::wait(way& w, bool for_write) {
  auto& s = for_write ? w.to : w.from;
  s.async_wait(for_write ? socket::wait_write : socket::wait_read,
               [self = shared_from_this(), &w](error_code) {
                 if (!self->closed_) // an error shows at the next read or write
                   self->pump(w);
               });
}

relay::progress relay::step(way& w) {
  if (!w.held.empty())
    return write_held(w);
  if (w.in_pipe == 0 && w.read_end) {
    return_pipe(w);
    if (::shutdown(w.to.native_handle(), SHUT_WR) != 0 && errno != ENOTCONN)
      return progress::failed;
    return progress::ended;
  }
  if (w.bulk && !w.pipe)
    w.pipe = shared_->pipes.take();
  return w.pipe ? splice(w) : copy(w);
}

relay::progress relay::write_held(way& w) {
  const auto n = ::send(w.to.native_handle(), w.held.data() + w.held_at, w.held.size() - w.held_at,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0)
    return would_block(errno) ? progress::wait_to_write
           : errno == EINTR   ? progress::moved
                              : progress::failed;
  w.held_at += static_cast<std::size_t>(n);
  if (w.held_at == w.held.size()) {
    std::string().swap(w.held); // an idle connection keeps no buffer
    w.held_at = 0;
  }
  return progress::moved;
}

relay::progress relay::copy(way& w) {
  auto& buffer = shared_->buffer;
  const auto n = ::recv(w.from.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0)
    return would_block(errno) ? progress::wait_to_read
           : errno == EINTR   ? progress::moved
                              : progress::failed;
  if (n == 0) {
    w.read_end = true;
    return progress::moved;
  }
  const auto got = static_cast<std::size_t>(n);
  w.bulk = got == buffer.size();
  const auto sent = ::send(w.to.native_handle(), buffer.data(), got, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !would_block(errno) && errno != EINTR)
    return progress::failed;
  const auto out = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (out < got)
    w.held.assign(buffer.data() + out, got - out);
  return progress::moved;
}

relay::progress relay::splice(way& w) {
  constexpr unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
  if (w.in_pipe == 0) {
    const auto n = ::splice(w.from.native_handle(), nullptr, w.pipe.write_end.get(), nullptr,
                            limits::relay_pipe_bytes, flags);
    if (n < 0) {
      if (errno == EINTR)
        return progress::moved;
      if (!would_block(errno))
        return progress::failed;
      return_pipe(w); // nothing in flight: somebody else may use it
      return progress::wait_to_read;
    }
    if (n == 0) {
      w.read_end = true;
      return progress::moved;
    }
    w.in_pipe = static_cast<std::size_t>(n);
  }
  const auto n =
      ::splice(w.pipe.read_end.get(), nullptr, w.to.native_handle(), nullptr, w.in_pipe, flags);
  if (n < 0)
    return would_block(errno) ? progress::wait_to_write
           : errno == EINTR   ? progress::moved
                              : progress::failed;
  w.in_pipe -= static_cast<std::size_t>(n);
  return progress::moved;
}

void relay::return_pipe(way& w) {
  if (w.pipe)
    shared_->pipes.give_back(std::move(w.pipe), w.in_pipe == 0);
}

void relay::on_way_done() {
  if (up_.done && down_.done)
    close();
  else
    arm_half_closed_timer();
}

// A client that was killed looks like one that half-closed; without a bound its
// connection to a silent server would stay until the sandbox ends.
void relay::arm_half_closed_timer() {
  if (!half_closed_)
    half_closed_ = std::make_unique<asio::steady_timer>(client_.get_executor());
  moved_since_ = false;
  half_closed_->expires_after(shared_->half_closed);
  half_closed_->async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->closed_)
      return;
    if (self->moved_since_)
      self->arm_half_closed_timer();
    else
      self->abort();
  });
}

} // namespace piorch::sandbox::network
