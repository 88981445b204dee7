#include "ipc/listener.hpp"

#include "ipc/system_error.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace piorch::ipc {

namespace {
constexpr int backlog = 128;
// A leaving instance frees its name within milliseconds; a second one that serves
// keeps it.
constexpr std::chrono::milliseconds default_lock_wait{2000};
constexpr std::chrono::milliseconds no_descriptors_pause{100};
constexpr int name_attempts = 16; // pids repeat across pid namespaces
} // namespace

result<std::unique_ptr<listener>> listener::open(boost::asio::io_context& io,
                                                 instance_directory& dir, const std::string& name) {
  dir.sweep();
  const bool is_default = name == default_instance;
  for (int attempt = 1; attempt <= (is_default ? 1 : name_attempts); ++attempt) {
    const std::string own = attempt == 1 ? name : name + "-" + std::to_string(attempt);
    auto lock =
        lock_file::take(dir, own, is_default ? default_lock_wait : std::chrono::milliseconds(0));
    if (!lock)
      return std::move(lock).failed();
    if (!*lock)
      continue;
    (*lock)->write_pid(::getpid());
    std::unique_ptr<listener> self(new listener(io, dir, own, std::move(**lock)));
    if (auto bound = self->bind(); !bound)
      return std::move(bound).failed();
    return self;
  }
  return error{failure::unreachable, "another orchestrator holds " + dir.path() + "/" + name +
                                         ".lock; its pid is inside"};
}

listener::listener(boost::asio::io_context& io, instance_directory& dir, std::string name,
                   lock_file lock)
    : dir_(dir), name_(std::move(name)), lock_(std::move(lock)), acceptor_(io), pause_(io) {}

listener::~listener() { close(); }

result<done> listener::bind() {
  const std::string path = dir_.socket_path(name_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return error{failure::fault, "the socket's path is too long: " + path};
  path.copy(address.sun_path, path.size());
  unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return fault("cannot make a socket");
  ::unlinkat(dir_.fd(), (name_ + ".sock").c_str(), 0); // we hold the lock: nobody serves it
  // The directory's mode is the wall; the socket's own is a second one. (Linux takes it from
  // the unbound socket; a umask would be every thread's.)
  (void)!::fchmod(socket.get(), 0600);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return fault("cannot bind " + dir_.path() + "/" + name_ + ".sock");
  if (::listen(socket.get(), backlog) != 0)
    return fault("cannot listen on " + dir_.path() + "/" + name_ + ".sock");
  // Changes nothing, but whoever watches the directory sees that it can connect now.
  (void)!::fchmodat(dir_.fd(), (name_ + ".sock").c_str(), 0600, 0);
  acceptor_.assign(boost::asio::local::stream_protocol(), socket.release());
  return done{};
}

void listener::start(std::function<void(unique_fd)> on_connection) {
  on_connection_ = std::move(on_connection);
  accept();
}

void listener::accept() {
  acceptor_.async_wait(boost::asio::socket_base::wait_read, [this](boost::system::error_code ec) {
    if (ec)
      return; // closed
    const int fd =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
      return accept_later(); // the waiting connection would wake us at once, for ever
    if (fd >= 0)
      take(fd);
    accept();
  });
}

void listener::accept_later() {
  pause_.expires_after(no_descriptors_pause);
  pause_.async_wait([this](boost::system::error_code ec) {
    if (!ec)
      accept();
  });
}

void listener::take(int fd) {
  unique_fd connection(fd);
  if (check_peer(connection.get())) // another account: closed without a word
    on_connection_(std::move(connection));
}

void listener::close() {
  if (!acceptor_.is_open())
    return;
  ::unlinkat(dir_.fd(), (name_ + ".sock").c_str(), 0);
  lock_.reset();
  while (on_connection_) {
    const int fd =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
      break;
    take(fd);
  }
  pause_.cancel();
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

} // namespace piorch::ipc
