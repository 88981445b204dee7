#include "sandbox/network/dialer.hpp"

#include "config/network_limits.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;

std::vector<asio::ip::address> in_dialling_order(std::vector<asio::ip::address> all) {
  std::vector<asio::ip::address> v6, v4, out;
  for (auto& a : all)
    (a.is_v6() ? v6 : v4).push_back(a);
  for (std::size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
    if (i < v6.size())
      out.push_back(v6[i]);
    if (i < v4.size())
      out.push_back(v4[i]);
  }
  return out;
}

dialer::dialer(asio::io_context& io, std::vector<asio::ip::address> addresses, std::uint16_t port,
               std::chrono::steady_clock::duration limit, handler done)
    : io_(io), addresses_(std::move(addresses)), port_(port), done_(std::move(done)), stagger_(io),
      time_(limit), limit_(io) {
  if (addresses_.size() > limits::connect_addresses)
    addresses_.resize(limits::connect_addresses);
}

void dialer::start() {
  limit_.expires_after(time_);
  limit_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec)
      self->finish(asio::error::timed_out, socket(self->io_));
  });
  dial_next();
}

void dialer::cancel() {
  done_ = nullptr;
  stagger_.cancel();
  limit_.cancel();
  attempts_.clear(); // closes; the handlers come with operation_aborted
}

void dialer::dial_next() {
  if (!done_ || attempts_.size() == addresses_.size())
    return;
  const auto i = attempts_.size();
  attempts_.push_back(std::make_unique<socket>(io_));
  const asio::ip::tcp::endpoint to(addresses_[i], port_);
  error_code ec;
  attempts_[i]->open(to.protocol(), ec);
  if (ec) {
    asio::post(io_, [self = shared_from_this(), i, ec] { self->on_connected(i, ec); });
    return;
  }
  attempts_[i]->async_connect(
      to, [self = shared_from_this(), i](error_code e) { self->on_connected(i, e); });
  stagger_.expires_after(limits::connect_stagger);
  stagger_.async_wait([self = shared_from_this()](error_code e) {
    if (!e)
      self->dial_next();
  });
}

void dialer::on_connected(std::size_t i, error_code ec) {
  if (!done_)
    return;
  if (!ec) {
    finish({}, std::move(*attempts_[i]));
    return;
  }
  if (!first_error_)
    first_error_ = ec;
  if (++failed_ == addresses_.size())
    finish(first_error_, socket(io_));
  else if (failed_ == attempts_.size())
    dial_next();
}

void dialer::finish(error_code ec, socket s) {
  if (!done_)
    return;
  auto done = std::move(done_);
  cancel();
  done(ec, std::move(s));
}

} // namespace piorch::sandbox::network
