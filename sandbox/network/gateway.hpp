// The network of one sandbox, seen from outside: it accepts on listening
// sockets that live in the sandbox's network namespace (handed out by
// piorch-init), decides, resolves, dials in the host's namespace and relays.
// Nothing else connects the two.
//
// Asio thread only; call-backs come on that thread.
#pragma once

#include "config/network_limits.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/network/decision.hpp"
#include "sandbox/network/report.hpp"
#include "sandbox/network/resolver.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace piorch::sandbox::network {

// Somebody has to say whether this one connection (or this one request on a
// kept-alive connection) may be made.
struct ask_request {
  std::uint64_t id = 0; // unique within the gateway
  destination to;
  std::string protocol; // "CONNECT", "HTTP" or "SOCKS"
};

struct ask_answer {
  bool allow = false;
  std::string source; // see source:: in decision.hpp
  std::string reason; // of a denial, one sentence; may be empty
};

// How long a connection may stay where it is. Tests shorten them.
struct time_limits {
  using duration = std::chrono::steady_clock::duration;
  duration http_head = limits::http_head_time; // to send one, or to read a refusal
  duration http_keep_alive = limits::http_keep_alive_time;
  duration socks_handshake = limits::socks_handshake_time;
  duration connect = limits::connect_time;
  duration half_closed = limits::half_closed_time;
};

struct gateway_options {
  rule_set rules;
  resolver_options names;
  time_limits times;
  std::size_t connections = 0; // 0: limits::proxy_connections, less if descriptors are short
};

struct gateway_events {
  // Starts an asynchronous question; `answer` is to be called at most once, on
  // the Asio thread, also from within. Empty: nobody can be asked, so denied.
  std::function<void(const ask_request&, std::function<void(ask_answer)> answer)> ask;
  // The connection is gone: the question with this id no longer matters. An
  // answer that comes nevertheless is ignored.
  std::function<void(std::uint64_t id)> ask_cancelled;
  // A new distinct entry of the report.
  std::function<void(const network_event&)> event;
};

class core;

class gateway {
public:
  gateway(boost::asio::io_context& io, gateway_options options, gateway_events events);
  ~gateway(); // stop()
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  // Take listening TCP sockets and accept on them.
  result<done> listen_http(ipc::unique_fd listener);
  result<done> listen_socks(ipc::unique_fd listener);
  // Connections are relayed to the same port on this host's loopback.
  result<done> listen_local(ipc::unique_fd listener, std::uint16_t port);

  // The programs inside are gone, by themselves. What they have sent through tunnels and local
  // ports goes to the servers: until it has, for limits::last_bytes_time at most, and for
  // limits::last_bytes_stall of a connection without a byte. `done` is called then, from
  // within if nothing is under way; stop() is for it to call, and withdraws it.
  void finish(std::function<void()> done);

  // Stops accepting, resets every connection, cancels every question. No
  // call-back comes afterwards.
  void stop();

  const network_report& report() const;
  std::size_t connections() const;

private:
  struct acceptor;
  enum class kind { http, socks, local };
  result<done> listen(ipc::unique_fd fd, kind what, std::uint16_t port);
  void stop_accepting();

  std::shared_ptr<core> core_;
  std::vector<std::shared_ptr<acceptor>> acceptors_;
};

// Raises the soft limit of open files to the hard one; call once per process.
// Programs started later should get the old limit back: it is returned.
std::uint64_t raise_descriptor_limit();

} // namespace piorch::sandbox::network
