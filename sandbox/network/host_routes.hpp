// Which of some addresses lead back to this host, by the kernel's own routing decision.
// That covers what a list of the interfaces' addresses leaves out: whole ranges routed to
// the host ("local" routes, as load balancers and containers have), and broadcast.
// One thread, in one network namespace; does not block.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <vector>

namespace piorch::sandbox::network {

class host_routes {
public:
  // The ones among `candidates` that are this host's. An address without a route is not: it
  // cannot be dialled either. An error if the kernel cannot be asked: then nothing may be
  // dialled.
  result<std::vector<boost::asio::ip::address>>
  on_this_host(const std::vector<boost::asio::ip::address>& candidates);

private:
  result<bool> is_on_this_host(const boost::asio::ip::address& candidate);

  ipc::unique_fd socket_; // to the kernel; made anew when an answer was not understood
  std::uint32_t number_ = 0;
};

// Whether an errno with which the kernel answers the question says that there is no route, or one
// that leads nowhere.
bool means_no_route(int error);

} // namespace piorch::sandbox::network
