// The few socket options of the proxies. Failures are of no consequence here:
// the connection works without, only less well.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>

namespace piorch::sandbox::network {

// The next close() sends RST instead of FIN: the peer learns that it was cut.
inline void reset_on_close(boost::asio::ip::tcp::socket& s) {
  boost::system::error_code ignored;
  s.set_option(boost::asio::socket_base::linger(true, 0), ignored);
}

inline void no_delay(boost::asio::ip::tcp::socket& s) {
  boost::system::error_code ignored;
  s.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

// A peer that vanished without a word is noticed after some hours at most.
inline void keep_alive(boost::asio::ip::tcp::socket& s) {
  boost::system::error_code ignored;
  s.set_option(boost::asio::socket_base::keep_alive(true), ignored);
}

} // namespace piorch::sandbox::network
