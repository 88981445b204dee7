// Where the workers that a worker starts in its own sandbox ask to be let in: a port of the
// sandbox's loopback. One connection each: it names itself in a line, gets "yes" or "no REASON"
// in another, and counts until the connection ends. Main thread only.
#pragma once

#include "ipc/stream_session.hpp"
#include "ipc/unique_fd.hpp"
#include "tools/piorch-broker/supervisor_line.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

namespace piorch::broker {

class nested_workers {
public:
  // More are let go unanswered, whatever the supervisor would say.
  static constexpr std::size_t connections_max = 64;

  nested_workers(boost::asio::io_context& io, supervisor_line& supervisor);
  void listen(ipc::unique_fd door);
  void stop();

private:
  struct guest {
    std::shared_ptr<ipc::stream_session> session;
    std::string id; // empty: it has not named itself yet
  };
  void accept();
  void accept_later();
  void greet(int fd);
  void enter(std::uint64_t number, const ipc::line_buffer::line& line);
  void leave(std::uint64_t number);

  boost::asio::io_context& io_;
  supervisor_line& supervisor_;
  boost::asio::ip::tcp::acceptor door_;
  boost::asio::steady_timer pause_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, guest> guests_;
};

} // namespace piorch::broker
