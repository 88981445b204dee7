// Connects to the first of some addresses that answers: in the given order, the
// next one a quarter of a second after the last or as soon as that one failed
// (RFC 8305). It dials addresses, never names: what was checked is what is
// connected to. Asio thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace piorch::sandbox::network {

// IPv6 first, then the families in turn.
std::vector<boost::asio::ip::address> in_dialling_order(std::vector<boost::asio::ip::address>);

class dialer : public std::enable_shared_from_this<dialer> {
public:
  using socket = boost::asio::ip::tcp::socket;
  using handler = std::function<void(boost::system::error_code, socket)>;

  dialer(boost::asio::io_context& io, std::vector<boost::asio::ip::address> addresses,
         std::uint16_t port, std::chrono::steady_clock::duration limit, handler done);

  void start();  // `done` is called once, later
  void cancel(); // no call-back

private:
  void dial_next();
  void on_connected(std::size_t i, boost::system::error_code ec);
  void finish(boost::system::error_code ec, socket s);

  boost::asio::io_context& io_;
  std::vector<boost::asio::ip::address> addresses_;
  std::uint16_t port_;
  handler done_;
  std::vector<std::unique_ptr<socket>> attempts_;
  std::size_t failed_ = 0;
  boost::system::error_code first_error_;
  boost::asio::steady_timer stagger_;
  std::chrono::steady_clock::duration time_;
  boost::asio::steady_timer limit_;
};

} // namespace piorch::sandbox::network
