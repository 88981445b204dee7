#include "ipc/client.hpp"

#include "config/limits.hpp"
#include "ipc/system_error.hpp"

#include <algorithm>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace piorch::ipc {

namespace {

constexpr std::size_t read_chunk = 64u << 10;

error lost(const std::string& why) {
  return {failure::unreachable, "the connection to the orchestrator is lost: " + why};
}

// For poll(): rounded up, so that a deadline is over when it says so.
int milliseconds_until(std::optional<client::clock::time_point> until) {
  if (!until)
    return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - client::clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, INT_MAX));
}

} // namespace

result<client> client::connect(const instance_directory& dir, const std::string& name,
                               std::chrono::milliseconds limit) {
  const std::string path = dir.socket_path(name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return error{failure::fault, "the socket's path is too long: " + path};
  path.copy(address.sun_path, path.size());
  unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket)
    return fault("cannot make a socket");
  // connect() waits while the server's backlog is full; this bounds it.
  const timeval bound{limit.count() / 1000, limit.count() % 1000 * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return error{failure::unreachable, "no orchestrator answers at " + dir.path() + "/" + name +
                                           ".sock: " + fault("connect").text};
  if (auto peer = check_peer(socket.get()); !peer)
    return std::move(peer).failed();
  return client(std::move(socket));
}

client::client(unique_fd socket) : socket_(std::move(socket)), lines_(limits::protocol_line_bytes) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

long long client::request(const rpc_call& call) {
  const long long id = next_id_++;
  out_ += rpc_request(rpc_id::number(id), method_name(call), write_params(call));
  out_ += '\n';
  return id;
}

void client::answer(const rpc_id& id, const nlohmann::json& result) {
  out_ += rpc_result(id, result);
  out_ += '\n';
}

void client::refuse(const rpc_id& id, const rpc_error& error) {
  out_ += rpc_failure(id, error);
  out_ += '\n';
}

result<done> client::write_some() {
  const ssize_t n =
      ::send(socket_.get(), out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
  if (n < 0)
    return errno == EAGAIN || errno == EINTR ? result<done>(done{}) : lost(fault("write").text);
  written_ += static_cast<std::size_t>(n);
  if (written_ == out_.size()) {
    out_.clear();
    written_ = 0;
  }
  return done{};
}

result<done> client::read_some() {
  const auto space = lines_.prepare(read_chunk);
  const ssize_t n = ::read(socket_.get(), space.begin, space.size);
  if (n < 0)
    return errno == EAGAIN || errno == EINTR ? result<done>(done{}) : lost(fault("read").text);
  if (n == 0)
    return lost("it has closed it");
  lines_.commit(static_cast<std::size_t>(n));
  return done{};
}

// Moves bytes until something was read (true), all is sent if that is wanted, the
// deadline passed or the wake descriptor is readable.
result<bool> client::transfer(std::optional<clock::time_point> until, int wake,
                              bool stop_when_sent) {
  for (;;) {
    if (stop_when_sent && out_.empty())
      return false;
    const short interest = static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT));
    pollfd ready[2] = {{socket_.get(), interest, 0}, {wake, POLLIN, 0}};
    const int count = ::poll(ready, 2, milliseconds_until(until));
    if (count < 0 && errno != EINTR)
      return fault("poll");
    if (count == 0)
      return false;
    if (count < 0)
      continue;
    if ((ready[0].revents & POLLOUT) != 0)
      if (auto wrote = write_some(); !wrote)
        return std::move(wrote).failed();
    if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      if (auto got = read_some(); !got)
        return std::move(got).failed();
      return true;
    }
    if (ready[1].revents != 0) {
      woken_ = true;
      return false;
    }
  }
}

result<client::incoming> client::receive(std::optional<clock::time_point> until, int wake) {
  if (kept_.empty())
    return receive_new(until, wake);
  incoming in{incoming::kind::message, std::move(kept_.front())};
  kept_.pop_front();
  return in;
}

result<client::incoming> client::receive_new(std::optional<clock::time_point> until, int wake) {
  woken_ = false;
  for (;;) {
    while (const auto line = lines_.next()) {
      if (line->what == line_buffer::kind::oversized)
        return lost("it sent a line longer than the protocol allows");
      incoming in{incoming::kind::message, {}};
      rpc_refusal refusal;
      if (!parse_rpc(line->text, in.message, refusal))
        return lost("it sent what is no message: " + refusal.error.message);
      return in;
    }
    auto moved = transfer(until, wake, false);
    if (!moved)
      return std::move(moved).failed();
    if (!*moved)
      return incoming{woken_ ? incoming::kind::woken : incoming::kind::too_late, {}};
  }
}

client::from_one client::receive_any(const std::vector<client*>& peers,
                                     std::optional<clock::time_point> until,
                                     const std::vector<pollfd>& others) {
  for (;;) {
    std::vector<pollfd> ready;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      auto in = peers[i]->receive(clock::now()); // what is here already
      if (!in || in->what == incoming::kind::message)
        return {i, std::move(in)};
      const short interest = static_cast<short>(POLLIN | (peers[i]->out_.empty() ? 0 : POLLOUT));
      ready.push_back({peers[i]->socket_.get(), interest, 0});
    }
    ready.insert(ready.end(), others.begin(), others.end());
    const int count = ::poll(ready.data(), ready.size(), milliseconds_until(until));
    if (count < 0 && errno != EINTR)
      return {ready.size(), fault("poll")};
    if (count == 0)
      return {ready.size(), incoming{incoming::kind::too_late, {}}};
    for (std::size_t i = peers.size(); count > 0 && i < ready.size(); ++i)
      if (ready[i].revents != 0)
        return {i, incoming{incoming::kind::woken, {}}};
  }
}

result<done> client::flush(clock::time_point until) {
  while (!out_.empty()) {
    auto moved = transfer(until, -1, true);
    if (!moved)
      return std::move(moved).failed();
    if (!*moved && !out_.empty())
      return error{failure::timed_out, "the orchestrator does not take what is sent to it"};
    if (*moved && lines_.capacity() > limits::client_queue_bytes_max)
      return lost("it sends and does not listen");
  }
  return done{};
}

std::optional<result<nlohmann::json>> client::answer_to(long long id, rpc_message& message) {
  if (message.id != rpc_id::number(id))
    return std::nullopt;
  if (message.what == rpc_message::kind::response)
    return result<nlohmann::json>(std::move(message.result));
  if (message.what == rpc_message::kind::error)
    return result<nlohmann::json>(from_rpc(message.failed));
  return std::nullopt;
}

result<nlohmann::json> client::call(const rpc_call& what, std::chrono::milliseconds limit) {
  const auto until = clock::now() + limit;
  const long long id = request(what);
  for (;;) {
    auto in = receive_new(until, -1);
    if (!in)
      return std::move(in).failed();
    if (in->what == incoming::kind::too_late)
      return error{failure::timed_out, std::string("no answer to ") + method_name(what) +
                                           " within " + std::to_string(limit.count()) + " ms"};
    if (auto answered = answer_to(id, in->message))
      return std::move(*answered);
    if (on_other)
      on_other(in->message);
    else
      kept_.push_back(std::move(in->message));
  }
}

} // namespace piorch::ipc
