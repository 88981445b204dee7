#include "ipc/fd_passing.hpp"

#include "ipc/system_error.hpp"

#include <cassert>
#include <cstring>
#include <sys/socket.h>

namespace piorch::ipc {

namespace {
// Room for twice the bound: a peer that sends more is seen, not truncated.
constexpr std::size_t control_fds = 2 * max_passed_fds;

union control_buffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * control_fds)];
};
} // namespace

result<done> send_fds(int socket, std::string_view bytes, const std::vector<int>& fds) {
  assert(!bytes.empty());
  if (fds.size() > max_passed_fds)
    return error{failure::usage, "more descriptors than one message may carry"};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  control_buffer control{};
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t sent = 0;
  do
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0)
    return fault("cannot send descriptors");
  if (static_cast<std::size_t>(sent) != bytes.size())
    return error{failure::fault, "cannot send descriptors: the message was cut"};
  return done{};
}

result<received_fds> receive_fds(int socket, char* buffer, std::size_t size, std::size_t most_fds) {
  iovec data{buffer, size};
  control_buffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0)
    return fault("cannot receive descriptors");
  received_fds out;
  out.bytes = static_cast<std::size_t>(got);
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
      continue;
    const std::size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof fd);
      out.fds.emplace_back(fd);
    }
  }
  if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0)
    return error{failure::fault, "cannot receive descriptors: the message was cut"};
  if (out.fds.size() > most_fds)
    return error{failure::fault, "the peer sent more descriptors than expected"};
  return out;
}

} // namespace piorch::ipc
