// A connection to one allowed port of this host: relayed to 127.0.0.1, or ::1
// where nothing listens there. Internal to sandbox/network.
#pragma once

#include "sandbox/network/core.hpp"

namespace piorch::sandbox::network {

void start_local_connection(std::shared_ptr<core> shared, boost::asio::ip::tcp::socket client,
                            std::uint16_t port);

} // namespace piorch::sandbox::network
