// The network of one sandbox inside its broker process: the gateway, the proxy
// actor that asks, and what the report says. Lives on the main thread.
#pragma once

#include "actors/proxy.hpp"
#include "config/settings.hpp"
#include "sandbox/network/gateway.hpp"
#include "sandbox/report.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace piorch::broker {

// Who can be asked; called on the main thread. All empty: nobody, so what no rule
// decides is refused.
struct approver {
  std::function<void(const sandbox::network::ask_request&)> show; // then answer()
  std::function<void(std::uint64_t id)> hide;
  // A new entry of the report, as it happens. May be empty.
  std::function<void(const sandbox::network_entry&)> decided;
};

// 0 for what is not a TCP socket (piorch-init's place-holder where there is no IPv6).
std::uint16_t listening_port(int fd);

class network_side {
public:
  network_side(boost::asio::io_context& io, caf::actor_system& system,
               const config::settings& settings, std::string trusted_file, approver asks);

  // The listening sockets of the sandbox's network namespace, told apart by port.
  void listen(std::vector<ipc::unique_fd>& listeners);

  // An answer to a question that was shown; a late one is ignored.
  void answer(std::uint64_t id, bool allow, std::string source, std::string reason);

  std::vector<sandbox::network_entry> report() const;

  // The programs are gone: see gateway::finish(). Stopped when `done` is called.
  void finish(std::function<void()> done);

  // No connection and no question afterwards.
  void stop();

private:
  actors::proxy_port port();
  sandbox::network::gateway_events events();

  boost::asio::io_context& io_;
  approver asks_;
  actors::proxy_handle proxy_;
  std::map<std::uint64_t, std::function<void(sandbox::network::ask_answer)>> waiting_;
  std::unique_ptr<sandbox::network::gateway> gateway_;
};

} // namespace piorch::broker
