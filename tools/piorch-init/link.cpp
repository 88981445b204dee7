#include "tools/piorch-init/link.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace piorch::init {

void link::send(const wire::header& h, const char* text) const {
  iovec parts[2] = {{const_cast<wire::header*>(&h), sizeof h},
                    {const_cast<char*>(text), h.text_bytes}};
  msghdr m{};
  m.msg_iov = parts;
  m.msg_iovlen = h.text_bytes ? 2 : 1;
  // A broker that is gone shows as end of file on the next receive.
  while (::sendmsg(fd_, &m, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void link::offer(const wire::header& h, const char* text) const {
  iovec parts[2] = {{const_cast<wire::header*>(&h), sizeof h},
                    {const_cast<char*>(text), h.text_bytes}};
  msghdr m{};
  m.msg_iov = parts;
  m.msg_iovlen = 2;
  [[maybe_unused]] auto n = ::sendmsg(fd_, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void link::send_descriptors(const int* fds, unsigned count) const {
  wire::header h;
  h.what = wire::message::listeners;
  h.a = count;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * wire::max_listeners)]{};
  iovec part{&h, sizeof h};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (count > 0) {
    m.msg_control = control;
    m.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
  }
  while (::sendmsg(fd_, &m, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR)
      fail(wire::stage::setup, errno, "hand the listening sockets to the broker");
  }
}

void link::fail(wire::stage where, int error, const char* what, const char* object) const {
  char text[wire::max_text];
  const int n = std::snprintf(text, sizeof text, "%s%s%s", what, *object ? " " : "", object);
  wire::header h;
  h.what = wire::message::failed;
  h.a = static_cast<std::uint32_t>(where);
  h.b = static_cast<std::uint32_t>(error);
  h.text_bytes = n < 0 ? 0
                       : static_cast<std::uint32_t>(
                             n >= int{sizeof text} ? sizeof text - 1 : static_cast<unsigned>(n));
  send(h, text);
  ::_exit(125);
}

bool link::ends_already() const {
  wire::header h;
  const auto n = ::recv(fd_, &h, sizeof h, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n == static_cast<ssize_t>(sizeof h) && h.what == wire::message::terminate);
}

bool link::receive(wire::header& h, int& fd) const {
  fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part{&h, sizeof h};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  ssize_t n;
  do
    n = ::recvmsg(fd_, &m, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof h))
    return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return true;
}

} // namespace piorch::init
