#include "tools/piorch-broker/network_side.hpp"

#include <boost/asio/post.hpp>

#include <cstdio>
#include <netinet/in.h>
#include <sys/socket.h>

namespace piorch::broker {

namespace {

namespace asio = boost::asio;
namespace network = sandbox::network;

network::gateway_options options_of(const config::settings& s, std::string trusted_file) {
  network::gateway_options out;
  out.rules.denied = {{s.network.denied_domains, "network.deniedDomains (or --deny-domain)"}};
  out.rules.allowed = {{s.network.allowed_domains, "network.allowedDomains (or --allow-domain)"}};
  out.rules.trusted_file = std::move(trusted_file);
  return out;
}

} // namespace

std::uint16_t listening_port(int fd) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) != 0)
    return 0;
  if (a.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(a).sin_port);
  if (a.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(a).sin6_port);
  return 0;
}

network_side::network_side(asio::io_context& io, caf::actor_system& system,
                           const config::settings& settings, std::string trusted_file,
                           approver asks)
    : io_(io), asks_(std::move(asks)) {
  network::raise_descriptor_limit();
  if (asks_.show)
    proxy_ = system.spawn(actors::proxy_actor, port(), settings.approvals.timeout);
  gateway_ = std::make_unique<network::gateway>(io, options_of(settings, std::move(trusted_file)),
                                                events());
}

// For the proxy actor, on its thread.
actors::proxy_port network_side::port() {
  actors::proxy_port p;
  p.show = [this](const network::ask_request& r) {
    asio::post(io_, [this, r] {
      if (waiting_.count(r.id) != 0)
        asks_.show(r);
    });
  };
  p.hide = [this](std::uint64_t id) { asio::post(io_, [this, id] { asks_.hide(id); }); };
  p.answer = [this](std::uint64_t id, network::ask_answer a) {
    asio::post(io_, [this, id, a = std::move(a)]() mutable {
      auto node = waiting_.extract(id);
      if (!node.empty())
        node.mapped()(std::move(a));
    });
  };
  return p;
}

network::gateway_events network_side::events() {
  network::gateway_events e;
  if (asks_.show) {
    e.ask = [this](const network::ask_request& r, std::function<void(network::ask_answer)> reply) {
      waiting_.emplace(r.id, std::move(reply));
      actors::tell(proxy_, actors::connect_asked{r});
    };
    e.ask_cancelled = [this](std::uint64_t id) {
      waiting_.erase(id);
      actors::tell(proxy_, actors::connect_gone{id});
    };
  }
  if (asks_.decided)
    e.event = [this](const network::network_event& n) {
      asks_.decided({n.host, n.port, n.decision, n.source});
    };
  return e;
}

void network_side::listen(std::vector<ipc::unique_fd>& listeners) {
  for (ipc::unique_fd& fd : listeners) {
    const std::uint16_t port = listening_port(fd.get());
    if (port == 0)
      continue;
    auto taken = port == limits::http_proxy_port    ? gateway_->listen_http(std::move(fd))
                 : port == limits::socks_proxy_port ? gateway_->listen_socks(std::move(fd))
                                                    : gateway_->listen_local(std::move(fd), port);
    if (!taken)
      std::fprintf(stderr, "piorch: port %u of the sandbox does not work: %s\n", port,
                   taken.failed().text.c_str());
  }
}

void network_side::answer(std::uint64_t id, bool allow, std::string source, std::string reason) {
  actors::tell(proxy_, actors::connect_answered{id, allow, std::move(source), std::move(reason)});
}

std::vector<sandbox::network_entry> network_side::report() const {
  std::vector<sandbox::network_entry> out;
  for (const auto& e : gateway_->report().events())
    out.push_back({e.host, e.port, e.decision, e.source});
  return out;
}

void network_side::finish(std::function<void()> done) {
  gateway_->finish([this, done = std::move(done)] {
    stop();
    done();
  });
}

void network_side::stop() {
  gateway_->stop();
  waiting_.clear();
}

} // namespace piorch::broker
