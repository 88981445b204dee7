#include "sandbox/network/gateway.hpp"

#include "sandbox/network/local_port.hpp"
#include "sandbox/network/proxy_client.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cerrno>
#include <cstring>
#include <sys/resource.h>
#include <sys/socket.h>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct gateway::acceptor : std::enable_shared_from_this<acceptor> {
  acceptor(std::shared_ptr<core> s, kind k, std::uint16_t p)
      : shared(std::move(s)), what(k), port(p), socket(shared->io), again(shared->io) {}

  void accept() {
    socket.async_accept([self = shared_from_this()](error_code ec, tcp::socket client) {
      if (self->stopped)
        return;
      if (!ec) {
        self->take(std::move(client));
        self->accept();
      } else if (ec == asio::error::no_descriptors ||
                 ec == std::errc::too_many_files_open_in_system ||
                 ec == asio::error::no_buffer_space || ec == asio::error::no_memory) {
        self->accept_later(); // accepting again at once would spin
      } else {
        self->accept(); // the client gave up while it was queued
      }
    });
  }

  // Nothing tells when a descriptor becomes free somewhere in the process or the
  // system, so this is the one place that tries again by time.
  void accept_later() {
    again.expires_after(std::chrono::milliseconds(200));
    again.async_wait([self = shared_from_this()](error_code) {
      if (!self->stopped)
        self->accept();
    });
  }

  // Who connected and ended at once may still be in the queue.
  void take_the_rest() {
    error_code ec;
    socket.non_blocking(true, ec);
    while (!ec) {
      tcp::socket client(shared->io);
      socket.accept(client, ec);
      if (!ec)
        take(std::move(client));
    }
  }

  void take(tcp::socket client) {
    if (shared->is_full()) {
      reset_on_close(client); // at once and in clear words for TCP, instead of a hang
      return;
    }
    switch (what) {
      case kind::http:
        return make_http_connection(shared, std::move(client))->start();
      case kind::socks:
        return make_socks_connection(shared, std::move(client))->start();
      case kind::local:
        return start_local_connection(shared, std::move(client), port);
    }
  }

  std::shared_ptr<core> shared;
  kind what;
  std::uint16_t port;
  tcp::acceptor socket;
  asio::steady_timer again;
  bool stopped = false;
};

gateway::gateway(asio::io_context& io, gateway_options options, gateway_events events)
    : core_(std::make_shared<core>(io, std::move(options), std::move(events))) {}

gateway::~gateway() { stop(); }

result<done> gateway::listen_http(ipc::unique_fd fd) {
  return listen(std::move(fd), kind::http, 0);
}
result<done> gateway::listen_socks(ipc::unique_fd fd) {
  return listen(std::move(fd), kind::socks, 0);
}
result<done> gateway::listen_local(ipc::unique_fd fd, std::uint16_t port) {
  return listen(std::move(fd), kind::local, port);
}

result<done> gateway::listen(ipc::unique_fd fd, kind what, std::uint16_t port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  int listening = 0;
  socklen_t int_size = sizeof listening;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &int_size) != 0)
    return error{failure::fault,
                 std::string("a proxy's listening socket: ") + std::strerror(errno)};
  if (listening == 0 || (address.ss_family != AF_INET && address.ss_family != AF_INET6))
    return error{failure::fault, "a proxy was handed what is not a listening TCP socket"};
  auto a = std::make_shared<acceptor>(core_, what, port);
  error_code ec;
  a->socket.assign(address.ss_family == AF_INET ? tcp::v4() : tcp::v6(), fd.get(), ec);
  if (ec)
    return error{failure::fault, "a proxy's listening socket: " + ec.message()};
  (void)fd.release();                            // Asio's now
  a->socket.set_option(tcp::no_delay(true), ec); // what is accepted has it from here; only speed
  a->accept();
  acceptors_.push_back(std::move(a));
  return done{};
}

void gateway::finish(std::function<void()> done) {
  for (auto& a : acceptors_)
    if (a->what == kind::local) // the others have not been answered yet
      a->take_the_rest();
  stop_accepting();
  core_->finish(std::move(done));
}

void gateway::stop() {
  stop_accepting();
  core_->stop();
}

void gateway::stop_accepting() {
  for (auto& a : acceptors_) {
    a->stopped = true;
    error_code ignored;
    a->socket.close(ignored);
    a->again.cancel();
  }
  acceptors_.clear();
}

const network_report& gateway::report() const { return core_->seen; }
std::size_t gateway::connections() const { return core_->live(); }

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 1024;
  const auto old = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit); // fewer connections then, nothing worse
  return old;
}

} // namespace piorch::sandbox::network
