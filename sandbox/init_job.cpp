#include "sandbox/init_job.hpp"

#include "sandbox/files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace piorch::sandbox {

void init_job::add(init::tag what, const void* head, std::size_t head_bytes,
                   std::string_view text) {
  const init::record_head record{what, static_cast<std::uint32_t>(head_bytes + text.size())};
  bytes_.append(reinterpret_cast<const char*>(&record), sizeof record);
  bytes_.append(static_cast<const char*>(head), head_bytes);
  bytes_.append(text);
  bytes_.append((8 - record.bytes % 8) % 8, '\0');
}

void init_job::add_text(init::tag what, std::string_view text) {
  add(what, text.data(), text.size(), std::string_view("", 1));
}

void init_job::add_number(init::tag what, std::uint64_t value) {
  add(what, &value, sizeof value, {});
}

void init_job::add_filter(const std::vector<sock_filter>& program) {
  add(init::tag::filter, program.data(), program.size() * sizeof(sock_filter), {});
}

void init_job::add_listener(std::uint16_t port, bool v6) {
  const init::listener_record l{port, static_cast<std::uint16_t>(v6), 0};
  add(init::tag::listener, &l, sizeof l, {});
}

result<done> init_job::add_mounts(const std::vector<std::string>& trees,
                                  const std::vector<inner_mount>& inner) {
  for (const std::string& path : trees) {
    const ipc::unique_fd fd = open_pinned(path);
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0)
      return error{failure::sandbox_unavailable,
                   "cannot open " + path + ": " + std::strerror(errno)};
    const init::root_record r{st.st_dev, st.st_ino};
    add(init::tag::root, &r, sizeof r, std::string_view(path.c_str(), path.size() + 1));
  }
  for (const inner_mount& m : inner) {
    const init::mount_record r{static_cast<std::uint32_t>(m.tree),
                               m.read_only ? init::mount_read_only : init::mount_pin};
    add(init::tag::mount, &r, sizeof r, std::string_view(m.path.c_str(), m.path.size() + 1));
  }
  return done{};
}

result<ipc::unique_fd> init_job::seal() const {
  ipc::unique_fd fd(::memfd_create("job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const init::record_head last{};
  const auto put = [&fd](const char* at, std::size_t left) {
    while (left > 0) {
      const ssize_t n = ::write(fd.get(), at, left);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return false;
      at += n;
      left -= static_cast<std::size_t>(n);
    }
    return true;
  };
  if (!fd || !put(bytes_.data(), bytes_.size()) ||
      !put(reinterpret_cast<const char*>(&last), sizeof last) ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return error{failure::fault,
                 std::string("cannot write the sandbox's job: ") + std::strerror(errno)};
  return fd;
}

result<done> init_job::send(int channel) const {
  const auto sealed = seal();
  if (!sealed)
    return sealed.failed();
  const int fd = sealed->get();
  init::header h;
  h.what = init::message::job;
  iovec part{&h, sizeof h};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)]{};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  if (::sendmsg(channel, &m, MSG_NOSIGNAL) < 0)
    return error{failure::fault,
                 std::string("cannot send the sandbox's job: ") + std::strerror(errno)};
  return done{};
}

} // namespace piorch::sandbox
