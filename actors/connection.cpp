#include "actors/connection.hpp"

#include "ipc/jsonrpc.hpp"
#include "ipc/protocol.hpp"

#include <nlohmann/json.hpp>

namespace piorch::actors {

namespace {

using ipc::line_buffer;
using ipc::rpc_code;
using kind = ipc::rpc_message::kind;

// The answer to a line that no actor hears of, or nothing.
std::optional<std::string> take_line(const line_buffer::line& line, const client_handle& client) {
  if (line.what == line_buffer::kind::oversized)
    return ipc::rpc_failure(
        {}, {rpc_code::invalid_request, "a line is longer than 16 MiB; it was skipped", nullptr});
  if (line.what == line_buffer::kind::partial)
    return ipc::rpc_failure(
        {}, {rpc_code::parse_error, "the stream ended within a line (LF is missing)", nullptr});
  ipc::rpc_message message;
  ipc::rpc_refusal refusal;
  if (!ipc::parse_rpc(line.text, message, refusal))
    return ipc::rpc_failure(refusal.id, refusal.error);
  if (message.what == kind::response || message.what == kind::error) {
    tell(client, client_answered{std::move(message)});
    return std::nullopt;
  }
  auto call = ipc::read_call(message.method, message.params);
  if (call && *call) {
    tell(client, client_asked{message.id, std::move(**call)});
    return std::nullopt;
  }
  if (message.what == kind::notification)
    return std::nullopt; // JSON-RPC: never answered
  if (!call)
    return ipc::rpc_failure(
        message.id, {rpc_code::method_not_found,
                     "there is no method \"" + message.method.substr(0, 100) + "\"", nullptr});
  return ipc::rpc_failure(message.id, ipc::to_rpc(call->failed()));
}

} // namespace

void connect_client(const std::shared_ptr<ipc::stream_session>& session, const client_maker& make) {
  const std::weak_ptr<ipc::stream_session> way_back = session;
  client_port port;
  port.send = [way_back](std::string line) {
    if (const auto s = way_back.lock())
      s->send(std::move(line));
  };
  port.send_lines = [way_back](ipc::shared_bytes lines) {
    if (const auto s = way_back.lock())
      s->send_lines(std::move(lines));
  };
  port.shut = [way_back] {
    if (const auto s = way_back.lock())
      s->shut();
  };
  const client_handle client = make(std::move(port));
  session->start({[client, way_back](line_buffer::line line) {
                    if (auto answer = take_line(line, client))
                      if (const auto s = way_back.lock())
                        s->send(std::move(*answer));
                  },
                  [client](std::size_t bytes) { tell(client, client_written{bytes}); },
                  [client](const std::string&) { tell(client, client_gone{}); }});
}

} // namespace piorch::actors
