#include "tools/piorch-broker/nested_workers.hpp"

#include "config/text.hpp"

#include <cerrno>
#include <chrono>
#include <sys/socket.h>

namespace piorch::broker {

namespace asio = boost::asio;

namespace {
constexpr std::size_t name_bytes = 1024;
constexpr std::chrono::milliseconds no_descriptors_pause{100};
} // namespace

nested_workers::nested_workers(asio::io_context& io, supervisor_line& supervisor)
    : io_(io), supervisor_(supervisor), door_(io), pause_(io) {}

void nested_workers::listen(ipc::unique_fd door) {
  if (door_.is_open())
    return;
  door_.assign(asio::ip::tcp::v4(), door.release());
  accept();
}

void nested_workers::stop() {
  boost::system::error_code ignored;
  pause_.cancel();
  door_.close(ignored);
  for (const auto& [number, one] : guests_)
    one.session->shut(std::chrono::milliseconds(0));
  guests_.clear();
}

void nested_workers::accept() {
  door_.async_wait(asio::socket_base::wait_read, [this](boost::system::error_code ec) {
    if (ec)
      return; // stopped
    const int fd = ::accept4(door_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
      return accept_later(); // the waiting connection would wake us at once, for ever
    if (fd >= 0)
      greet(fd);
    accept();
  });
}

void nested_workers::accept_later() {
  pause_.expires_after(no_descriptors_pause);
  pause_.async_wait([this](boost::system::error_code ec) {
    if (!ec)
      accept();
  });
}

void nested_workers::greet(int fd) {
  ipc::unique_fd connection(fd);
  if (guests_.size() >= connections_max)
    return;
  const auto number = ++last_;
  auto session = ipc::stream_session::make(io_, std::move(connection), {}, name_bytes);
  guests_.emplace(number, guest{session, {}});
  session->start({[this, number](const ipc::line_buffer::line& line) { enter(number, line); },
                  {},
                  [this, number](const std::string&) { leave(number); }});
}

void nested_workers::enter(std::uint64_t number, const ipc::line_buffer::line& line) {
  const auto at = guests_.find(number);
  if (at == guests_.end() || !at->second.id.empty())
    return;
  auto id = ipc::new_capability();
  if (line.what != ipc::line_buffer::kind::complete || !id)
    return at->second.session->shut();
  at->second.id = *id;
  const std::weak_ptr<ipc::stream_session> way_back = at->second.session;
  supervisor_.sign_in(*id, config::printable(line.text, 160),
                      [way_back](bool allow, const std::string& reason) {
                        if (const auto session = way_back.lock()) {
                          session->send(allow ? "yes" : "no " + config::printable(reason, 500));
                          if (!allow)
                            session->shut();
                        }
                      });
}

void nested_workers::leave(std::uint64_t number) {
  const auto node = guests_.extract(number);
  if (node.empty())
    return;
  node.mapped().session->shut();
  if (!node.mapped().id.empty())
    supervisor_.sign_out(node.mapped().id);
}

} // namespace piorch::broker
