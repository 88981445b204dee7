// One look-up of one name: A and AAAA at once, over UDP from a fresh port with a
// random id (that is the only defence against a forged answer), over TCP when
// the answer was cut; server after server, bounded in time. Asio thread only.
#pragma once

#include "config/result.hpp"
#include "sandbox/network/dns_files.hpp"
#include "sandbox/network/dns_message.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace piorch::sandbox::network::dns {

struct outcome {
  result<std::vector<boost::asio::ip::address>> addresses;
  std::chrono::seconds ttl;
};

class lookup : public std::enable_shared_from_this<lookup> {
public:
  lookup(boost::asio::io_context& io, std::string host, server_list servers, std::uint16_t port,
         std::function<void(outcome)> done);

  void start();
  // No call-back any more; sockets and timers are closed.
  void cancel();

private:
  struct query {
    record type;
    std::uint16_t id = 0;
    std::optional<response> answer; // final: addresses, no_name or failed
    boost::asio::ip::tcp::socket tcp;
    std::string tcp_bytes;
  };

  void next_attempt();
  void send(query& q);
  void receive();
  void on_datagram(std::size_t size);
  void ask_over_tcp(query& q);
  void settle(query& q, response r);
  void check();
  void on_attempt_timeout();
  void finish();
  query* by_id(std::uint16_t id);

  boost::asio::io_context& io_;
  std::string host_;
  server_list servers_;
  std::uint16_t port_;
  std::function<void(outcome)> done_;
  boost::asio::ip::udp::socket udp_;
  boost::asio::steady_timer attempt_timer_;
  boost::asio::steady_timer total_timer_;
  std::array<query, 2> queries_;
  std::vector<char> datagram_;
  unsigned attempt_ = 0;
  std::uint64_t epoch_ = 0; // completions of an earlier attempt are ignored
  bool grace_ = false;
};

} // namespace piorch::sandbox::network::dns
