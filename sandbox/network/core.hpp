// What the connections of one gateway share. Kept alive by each of them; knows
// them only to end them. Asio thread only. Internal to sandbox/network.
#pragma once

#include "sandbox/network/gateway.hpp"
#include "sandbox/network/host_routes.hpp"
#include "sandbox/network/relay.hpp"

#include <boost/asio/steady_timer.hpp>

#include <unordered_set>

namespace piorch::sandbox::network {

// A connection from inside, whatever its protocol.
class connection {
public:
  explicit connection(std::shared_ptr<core> shared);
  virtual ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  virtual void abort() = 0; // reset, at once, no call-back afterwards

protected:
  std::shared_ptr<core> shared_;
};

class core : public std::enable_shared_from_this<core> {
public:
  core(boost::asio::io_context& io, gateway_options options, gateway_events events);

  void report(const std::string& host, std::uint16_t port, bool allowed, std::string source);
  void join(connection* c) { live_.insert(c); }
  void leave(connection* c) { live_.erase(c); }
  // See gateway::finish().
  void finish(std::function<void()> done);
  void stop();
  bool is_full() const { return live_.size() >= connections_max_; }

  boost::asio::io_context& io;
  gateway_events events;
  const time_limits times;
  decisions policy;
  resolver names;
  host_routes routes;
  std::shared_ptr<relay_resources> relays;
  network_report seen;
  std::uint64_t next_ask = 1;
  std::size_t live() const { return live_.size(); }

private:
  void finished();

  std::function<void()> finished_;
  boost::asio::steady_timer last_bytes_;
  std::size_t connections_max_;
  std::unordered_set<connection*> live_;
};

} // namespace piorch::sandbox::network
