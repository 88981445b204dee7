// The few socket options of the proxies. Failures are of no consequence here:
// the connection works without, only less well.
#pragma once

#include "config/network_limits.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

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

// A client that sent FIN was perhaps killed: probes it. `gone()` when it is reset; the socket's
// close() ends the wait, and what `gone` holds is held until then.
template <class Gone> void probe_half_closed(boost::asio::ip::tcp::socket& s, Gone gone) {
  keep_alive(s);
  const auto set = [&s](int option, auto value) {
    const int number = static_cast<int>(value);
    ::setsockopt(s.native_handle(), IPPROTO_TCP, option, &number, sizeof number);
  };
#ifdef TCP_KEEPIDLE
  set(TCP_KEEPIDLE, limits::half_closed_probe_after.count());
#else
  set(TCP_KEEPALIVE, limits::half_closed_probe_after.count()); // macOS
#endif
  set(TCP_KEEPINTVL, limits::half_closed_probe_again.count());
  set(TCP_KEEPCNT, limits::half_closed_probes);
  s.async_wait(boost::asio::socket_base::wait_error, [&s, gone = std::move(gone)](
                                                         boost::system::error_code ec) {
    if (ec)
      return;
    int problem = 0; // urgent data wakes up as well
    socklen_t size = sizeof problem;
    if (::getsockopt(s.native_handle(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem != 0)
      gone();
  });
}

} // namespace piorch::sandbox::network
