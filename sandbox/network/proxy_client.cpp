#include "sandbox/network/proxy_client.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t drain_bytes = 1u << 20;
constexpr std::chrono::seconds drain_time{3};

class tunnel_connection : public connection,
                          public std::enable_shared_from_this<tunnel_connection> {
public:
  using connection::connection;

  void start(asio::ip::tcp::socket client, asio::ip::tcp::socket server, std::string to_server,
             std::string to_client) {
    // The relay keeps us alive until it ends; its call-back breaks the circle.
    relay_ = std::make_shared<relay>(std::move(client), std::move(server), std::move(to_server),
                                     std::move(to_client), shared_->relays,
                                     [self = shared_from_this()] { self->relay_.reset(); });
    auto keep = relay_; // it may end within start()
    keep->start();
  }
  void abort() override {
    if (auto keep = relay_)
      keep->abort();
  }

private:
  std::shared_ptr<relay> relay_;
};

} // namespace

void start_tunnel(std::shared_ptr<core> shared, asio::ip::tcp::socket client,
                  asio::ip::tcp::socket server, std::string to_server, std::string to_client) {
  std::make_shared<tunnel_connection>(std::move(shared))
      ->start(std::move(client), std::move(server), std::move(to_server), std::move(to_client));
}

proxy_client::proxy_client(std::shared_ptr<core> shared, socket client)
    : connection(std::move(shared)), client_(std::move(client)), clock_(shared_->io) {}

void proxy_client::abort() {
  if (dead_)
    return;
  dead_ = true;
  clock_.cancel();
  if (auto p = std::move(passage_)) // what holds us may go with it: we are held by the caller
    p->cancel();
  if (client_.is_open()) {
    reset_on_close(client_);
    error_code ignored;
    client_.close(ignored);
  }
}

void proxy_client::read_more(std::size_t most) {
  if (reading_ || dead_ || most == 0)
    return;
  if (std::exchange(fresh_, false))
    return take(most); // who connects to a proxy has mostly written already
  reading_ = true;
  client_.async_wait(socket::wait_read,
                     [self = shared_from_this(), most, epoch = read_epoch_](error_code ec) {
                       if (self->dead_ || epoch != self->read_epoch_)
                         return;
                       self->reading_ = false;
                       if (ec)
                         self->on_client_end(true);
                       else
                         self->take(most);
                     });
}

void proxy_client::take(std::size_t most) {
  auto& buffer = shared_->relays->buffer;
  const auto n =
      ::recv(client_.native_handle(), buffer.data(), std::min(most, buffer.size()), MSG_DONTWAIT);
  if (n > 0) {
    in_.append(buffer.data(), static_cast<std::size_t>(n));
    on_bytes();
  } else if (n == 0) {
    on_client_end(false);
  } else if (errno == EAGAIN || errno == EINTR) {
    read_more(most);
  } else {
    on_client_end(true);
  }
}

void proxy_client::stop_reading() {
  if (!reading_)
    return;
  ++read_epoch_;
  reading_ = false;
  error_code ignored;
  client_.cancel(ignored);
}

void proxy_client::open(const destination& to, std::string protocol) {
  passage_ = std::make_shared<passage>(shared_, to, std::move(protocol),
                                       [self = shared_from_this()](passage::outcome outcome) {
                                         self->passage_.reset();
                                         self->stop_reading();
                                         self->on_open(std::move(outcome));
                                       });
  passage_->start();
  // Behind the judgement: whether somebody is asked is known before the client's FIN is seen.
  asio::post(shared_->io, [self = shared_from_this(), opening = passage_] {
    if (self->passage_ == opening && self->in_.size() < limits::early_data_bytes)
      self->read_more(limits::early_data_bytes - self->in_.size());
  });
}

void proxy_client::expect_progress_within(std::chrono::steady_clock::duration limit,
                                          std::function<bool()> moved) {
  clock_.expires_after(limit);
  clock_.async_wait([self = shared_from_this(), limit, moved = std::move(moved)](error_code ec) {
    if (ec)
      return;
    if (moved && moved())
      self->expect_progress_within(limit, moved);
    else
      self->abort();
  });
}

void proxy_client::tunnel(socket server, std::string greeting) {
  stop_clock();
  stop_reading();
  dead_ = true; // the socket has a new owner
  start_tunnel(shared_, std::move(client_), std::move(server), std::move(in_), std::move(greeting));
}

void proxy_client::send(std::string bytes, std::function<void()> then) {
  const auto n =
      ::send(client_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n == static_cast<ssize_t>(bytes.size()))
    return then();
  auto held = std::make_shared<std::string>(std::move(bytes));
  if (n > 0)
    held->erase(0, static_cast<std::size_t>(n));
  asio::async_write(
      client_, asio::buffer(*held),
      [self = shared_from_this(), held, then = std::move(then)](error_code ec, std::size_t) {
        if (self->dead_)
          return;
        if (ec)
          self->abort();
        else
          then();
      });
}

void proxy_client::answer_and_close(std::string bytes) {
  stop_reading();
  in_.clear();
  expect_progress_within(shared_->times.http_head); // a client that does not read its answer
  send(std::move(bytes), [this] {
    error_code ignored;
    client_.shutdown(socket::shutdown_send, ignored);
    expect_progress_within(drain_time);
    drain(drain_bytes);
  });
}

void proxy_client::drain(std::size_t left) {
  client_.async_wait(socket::wait_read, [self = shared_from_this(), left](error_code ec) {
    if (self->dead_)
      return;
    auto& buffer = self->shared_->relays->buffer;
    const auto n =
        ec ? -1 : ::recv(self->client_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0 && static_cast<std::size_t>(n) < left) {
      self->drain(left - static_cast<std::size_t>(n));
      return;
    }
    self->dead_ = true;
    self->stop_clock();
    error_code ignored;
    self->client_.close(ignored);
  });
}

} // namespace piorch::sandbox::network
