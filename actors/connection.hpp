// Between a client's connection and its actor, on the Asio thread: lines become
// requests; what is no request is answered here, without an actor.
#pragma once

#include "actors/client.hpp"
#include "ipc/stream_session.hpp"

#include <functional>
#include <memory>

namespace piorch::actors {

// Makes the actor of a connection from the way back to it.
using client_maker = std::function<client_handle(client_port)>;

// Starts reading. The connection keeps its actor until it ends, the actor the
// connection only weakly.
void connect_client(const std::shared_ptr<ipc::stream_session>& session, const client_maker& make);

} // namespace piorch::actors
