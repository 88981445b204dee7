// Names to addresses, once per connection and only after the decision has
// fallen. Our own small DNS client on Asio instead of getaddrinfo: that one
// blocks a thread for as long as a name server likes, cannot be called off, and
// a handful of hung look-ups would stop every other connection. It knows
// /etc/hosts and the servers of /etc/resolv.conf; other NSS sources are not
// asked (docs/security.md).
//
// Asio thread only. Look-ups of one name in flight are shared, answers are kept
// for their TTL, at most limits::dns_cache_time; a TTL of 0 is not kept.
#pragma once

#include "config/result.hpp"
#include "sandbox/network/dns_files.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace piorch::sandbox::network {

namespace dns {
class lookup;
}

struct resolver_options {
  std::string resolv_conf = "/etc/resolv.conf";
  std::string hosts = "/etc/hosts";
  std::uint16_t server_port = 53; // tests without privilege move it
};

class resolver {
public:
  using addresses = std::vector<boost::asio::ip::address>;
  using handler = std::function<void(result<addresses>)>;

  resolver(boost::asio::io_context& io, resolver_options options);
  ~resolver();

  // Calls back later (never from within), unless the ticket is dropped before:
  // a dropped ticket never calls. No address at all is an error.
  using ticket = std::shared_ptr<handler>;
  ticket resolve(const std::string& host, handler done);

private:
  struct waiting {
    std::shared_ptr<dns::lookup> work;
    std::vector<std::weak_ptr<handler>> waiters;
  };
  struct cached {
    addresses found;
    std::chrono::steady_clock::time_point until;
  };
  bool make_room();
  void finish(const std::string& host, result<addresses> outcome, std::chrono::seconds ttl);
  void keep(const std::string& host, const addresses& found, std::chrono::seconds ttl);

  boost::asio::io_context& io_;
  resolver_options options_;
  dns::file_watch resolv_conf_;
  dns::file_watch hosts_file_;
  dns::server_list servers_;
  dns::hosts_table hosts_;
  std::map<std::string, waiting> in_flight_;
  std::map<std::string, cached> cache_;
};

} // namespace piorch::sandbox::network
