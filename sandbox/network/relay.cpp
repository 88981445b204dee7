#include "sandbox/network/relay.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>

#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

namespace {

// How many steps one connection may take before the others have their turn.
constexpr int steps_per_turn = 4;

bool would_block(int e) { return e == EAGAIN || e == EWOULDBLOCK; }

} // namespace

relay_resources::relay_resources(std::chrono::steady_clock::duration half_closed_time)
    : large(limits::relay_bulk_buffers), buffer(limits::relay_buffer_bytes),
      half_closed(half_closed_time) {}

void relay_resources::check_rest() const {
  if (live.empty() && coming == 0 && on_rest)
    on_rest();
}

relay::relay(socket client, socket server, std::string to_server, std::string to_client,
             std::shared_ptr<relay_resources> shared, std::function<void()> on_end)
    : client_(std::move(client)), server_(std::move(server)), shared_(std::move(shared)),
      on_end_(std::move(on_end)) {
  up_.held = std::move(to_server);
  up_.size = up_.held.size();
  down_.held = std::move(to_client);
  down_.size = down_.held.size();
  shared_->live.insert(this);
}

relay::~relay() {
  shared_->live.erase(this);
  return_buffer(up_);
  return_buffer(down_);
}

void relay::start() {
  if (!take_along(down_))
    return abort();
  pump(down_);
  if (!closed_)
    pump(up_);
  if (shared_->finishing)
    finish();
}

void relay::abort() {
  if (closed_)
    return;
  reset_on_close(client_);
  reset_on_close(server_);
  close();
}

void relay::close() {
  const auto keep = shared_from_this(); // the owner lets go of us
  closed_ = true;
  error_code ignored;
  client_.close(ignored); // cancels the waits, whose handlers hold us
  server_.close(ignored);
  for (auto* timer : {half_closed_.get(), up_.patience.get(), down_.patience.get()})
    if (timer)
      timer->cancel();
  shared_->live.erase(this);
  if (auto f = std::move(on_end_))
    f();
  shared_->check_rest();
}

void relay::pump(way& w) {
  for (int i = 0; i < steps_per_turn; ++i) {
    switch (step(w)) {
      case progress::moved:
        moved_since_ = true;
        if (finishing_ && &w == &up_)
          moved_up_ = clock::now();
        break;
      case progress::wait_to_read:
        return wait_to_read(w);
      case progress::wait_to_write:
        return wait_to_write(w);
      case progress::ended:
        w.done = true;
        if (&w == &up_ && !down_.done)
          probe_half_closed(client_, [self = shared_from_this()] {
            if (!self->closed_)
              self->abort();
          });
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

// What arrives faster than it is passed on comes in larger portions to whoever waits a little:
// every portion costs its sender, this process and the reader a change of context.
void relay::wait_to_read(way& w) {
  be_patient(w, std::exchange(w.burst, 0) >= limits::relay_patience_bytes);
  if (w.patient) {
    if (!w.patience)
      w.patience = std::make_unique<asio::steady_timer>(w.from.get_executor());
    w.patience->expires_after(limits::relay_patience);
    w.patience->async_wait([self = shared_from_this(), &w](error_code ec) {
      if (ec || self->closed_)
        return;
      self->be_patient(w, false);
      error_code ignored;
      w.from.cancel(ignored); // what has come is taken as it is
    });
  }
  w.from.async_wait(socket::wait_read, [self = shared_from_this(), &w](error_code) {
    if (w.patience)
      w.patience->cancel();
    if (!self->closed_) // an error shows at the next read
      self->pump(w);
  });
}

// What the server has said already goes with the proxy's own words: one portion instead of two.
bool relay::take_along(way& w) {
  if (w.held.empty())
    return true;
  auto& buffer = shared_->buffer;
  const auto n = ::recv(w.from.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) // a reset is told once: the next read would see an end
    return would_block(errno) || errno == EINTR;
  w.read_end = n == 0;
  w.last = static_cast<std::size_t>(n);
  w.held.append(buffer.data(), w.last);
  w.size = w.held.size();
  return true;
}

void relay::wait_to_write(way& w) {
  if (finishing_)
    make_room(); // a waiter learns of it as well
  w.to.async_wait(socket::wait_write, [self = shared_from_this(), &w](error_code) {
    if (!self->closed_) // an error shows at the next write
      self->pump(w);
  });
}

void relay::be_patient(way& w, bool patient) {
  if (std::exchange(w.patient, patient) == patient)
    return;
  error_code ignored;
  w.from.set_option(asio::socket_base::receive_low_watermark(
                        patient ? static_cast<int>(limits::relay_patience_bytes) : 1),
                    ignored);
}

relay::progress relay::step(way& w) {
  if (finishing_ && &w == &down_)
    return discard();
  if (w.at < w.size)
    return write(w);
  if (!w.read_end)
    return read(w);
  if (::shutdown(w.to.native_handle(), SHUT_WR) != 0 && errno != ENOTCONN)
    return progress::failed;
  return progress::ended;
}

relay::progress relay::read(way& w) {
  auto& small = shared_->buffer;
  if (!w.large && w.last >= small.size())
    w.large = shared_->large.take();
  char* into = w.large ? w.large.get() : small.data();
  const auto n = ::recv(w.from.native_handle(), into,
                        w.large ? limits::relay_bulk_bytes : small.size(), MSG_DONTWAIT);
  const int problem = n < 0 ? errno : 0;
  if (problem == EINTR)
    return progress::moved;
  if (n <= 0) {
    return_buffer(w); // nothing in flight: somebody else may use it
    w.read_end = n == 0;
    return n == 0                 ? progress::moved
           : would_block(problem) ? progress::wait_to_read
                                  : progress::failed;
  }
  w.last = static_cast<std::size_t>(n);
  w.burst += w.last;
  const auto sent = ::send(w.to.native_handle(), into, w.last, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !would_block(errno) && errno != EINTR)
    return progress::failed;
  w.at = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  w.size = w.last;
  if (!w.large && w.at < w.size) {
    w.held.assign(into + w.at, w.size - w.at);
    w.at = 0;
    w.size = w.held.size();
  }
  return progress::moved;
}

relay::progress relay::write(way& w) {
  const char* from = w.large ? w.large.get() : w.held.data();
  const auto n =
      ::send(w.to.native_handle(), from + w.at, w.size - w.at, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0)
    return would_block(errno) ? progress::wait_to_write
           : errno == EINTR   ? progress::moved
                              : progress::failed;
  w.at += static_cast<std::size_t>(n);
  if (w.at == w.size)
    std::string().swap(w.held); // an idle connection keeps no buffer
  return progress::moved;
}

void relay::return_buffer(way& w) {
  if (w.large)
    shared_->large.give_back(std::move(w.large));
}

void relay::on_way_done() {
  if (finishing_) {
    if (up_.done)
      close_in_good_order();
  } else if (up_.done && down_.done)
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
    if (ec || self->closed_ || self->finishing_)
      return;
    if (self->moved_since_)
      self->arm_half_closed_timer();
    else
      self->abort();
  });
}

// The waits of both ways go on; the one for the client's last bytes and its FIN is about to
// end, for nobody holds the other side.
void relay::finish() {
  if (closed_ || std::exchange(finishing_, true))
    return;
  if (up_.done)
    return close_in_good_order();
  if (up_.at < up_.size)
    make_room();
  moved_up_ = clock::now();
  arm_stall_timer(limits::last_bytes_stall);
}

// The server may have to be rid of its answer before it reads on, and unread bytes would turn
// our close into a reset.
relay::progress relay::discard() {
  auto& buffer = shared_->buffer;
  const auto n = ::recv(server_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  return n > 0                ? progress::moved
         : n == 0             ? progress::ended
         : errno == EINTR     ? progress::moved
         : would_block(errno) ? progress::wait_to_read
                              : progress::failed;
}

// What the host's kernel has taken, it delivers without us.
void relay::make_room() {
  if (std::exchange(room_made_, true))
    return;
  error_code ec;
  asio::socket_base::send_buffer_size now;
  server_.get_option(now, ec); // counted twice, as the kernel does for its own needs
  if (!ec && now.value() < 2 * limits::last_bytes_buffer)
    server_.set_option(asio::socket_base::send_buffer_size(limits::last_bytes_buffer), ec);
}

void relay::arm_stall_timer(clock::duration after) {
  if (!half_closed_)
    half_closed_ = std::make_unique<asio::steady_timer>(client_.get_executor());
  half_closed_->expires_after(after);
  half_closed_->async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->closed_)
      return;
    const auto left = self->moved_up_ + limits::last_bytes_stall - clock::now();
    if (left > clock::duration::zero())
      self->arm_stall_timer(left);
    else
      self->abort(); // a cut transfer must not look complete
  });
}

void relay::close_in_good_order() {
  for (int i = 0; i < steps_per_turn && !down_.done; ++i)
    if (discard() != progress::moved)
      break;
  reset_on_close(client_); // nobody is there
  close();
}

} // namespace piorch::sandbox::network
