#include "sandbox/process_tree.hpp"

#include "sandbox/kill_starting.hpp"

#include <boost/asio/error.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

using wait_type = boost::asio::posix::descriptor_base;

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

} // namespace

process_tree::process_tree(boost::asio::io_context& io, pid_t bwrap, ipc::unique_fd channel)
    : channel_(io, channel.release()), bwrap_handle_(io), init_handle_(io), bwrap_(bwrap) {}

process_tree::~process_tree() {
  kill();
  if (bwrap_ > 0)
    ::waitpid(bwrap_, nullptr, 0);
}

void process_tree::start(events to) {
  to_ = std::move(to);
  channel_.non_blocking(true);
  if (const int fd = open_pidfd(bwrap_); fd >= 0)
    bwrap_handle_.assign(fd);
  wait_bwrap();
  read();
}

void process_tree::send(init::message what, std::uint32_t a) {
  init::header h;
  h.what = what;
  h.a = a;
  // A full or closed socket means that piorch-init is stuck or gone; the kill
  // that stands behind every request takes care of that.
  if (channel_.is_open()) [[maybe_unused]]
    const auto n = ::send(channel_.native_handle(), &h, sizeof h, MSG_NOSIGNAL);
}

void process_tree::kill() {
  killed_ = true;
  if (init_handle_.is_open())
    ::syscall(SYS_pidfd_send_signal, init_handle_.native_handle(), SIGKILL, nullptr, 0);
  if (bwrap_ > 0 && init_pid_ == 0)
    kill_starting(bwrap_);
  else if (bwrap_ > 0)
    ::kill(bwrap_, SIGKILL); // and with it, by its parent-death signal, piorch-init
}

void process_tree::read() {
  channel_.async_wait(wait_type::wait_read, [self =
                                                 shared_from_this()](boost::system::error_code ec) {
    if (ec)
      return;
    for (;;) {
      char bytes[sizeof(init::header) + init::max_text];
      alignas(cmsghdr) char
          control[CMSG_SPACE(sizeof(int) * init::max_listeners) + CMSG_SPACE(sizeof(ucred))];
      iovec part{bytes, sizeof bytes};
      msghdr m{};
      m.msg_iov = &part;
      m.msg_iovlen = 1;
      m.msg_control = control;
      m.msg_controllen = sizeof control;
      const ssize_t n =
          ::recvmsg(self->channel_.native_handle(), &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return self->read();
      if (n < static_cast<ssize_t>(sizeof(init::header))) { // end of file
        self->channel_.close();
        return self->one_gone();
      }
      std::vector<ipc::unique_fd> fds;
      pid_t sender = 0;
      for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
          ucred who{};
          std::memcpy(&who, CMSG_DATA(c), sizeof who);
          sender = who.pid;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
          for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, reinterpret_cast<char*>(c) + at, sizeof fd);
            fds.emplace_back(fd);
          }
      }
      init::header h;
      std::memcpy(&h, bytes, sizeof h);
      self->take(h, std::string(bytes + sizeof h, static_cast<std::size_t>(n) - sizeof h),
                 std::move(fds), sender);
      if (!self->channel_.is_open())
        return;
    }
  });
}

void process_tree::take(const init::header& h, std::string text, std::vector<ipc::unique_fd> fds,
                        pid_t sender) {
  if (h.what == init::message::up && init_pid_ == 0 && sender > 0) {
    init_pid_ = sender;
    if (const int fd = open_pidfd(sender); fd >= 0) {
      init_handle_.assign(fd);
      ++waiting_;
      wait_init();
      if (killed_)
        kill();
    }
  }
  to_.message(h, std::move(text), std::move(fds));
}

void process_tree::wait_bwrap() {
  bwrap_handle_.async_wait(wait_type::wait_read,
                           [self = shared_from_this()](boost::system::error_code ec) {
                             if (ec == boost::asio::error::operation_aborted)
                               return;
                             ::waitpid(std::exchange(self->bwrap_, -1), nullptr, 0);
                             self->bwrap_handle_.close();
                             self->one_gone();
                           });
}

// The pidfd becomes readable after the last process of the namespace has died.
void process_tree::wait_init() {
  init_handle_.async_wait(wait_type::wait_read,
                          [self = shared_from_this()](boost::system::error_code ec) {
                            if (ec == boost::asio::error::operation_aborted)
                              return;
                            self->init_handle_.close();
                            self->one_gone();
                          });
}

void process_tree::one_gone() {
  if (--waiting_ == 0) {
    const auto gone = std::move(to_.gone);
    to_ = {};
    gone();
  }
}

} // namespace piorch::sandbox
