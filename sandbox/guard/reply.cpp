#include "sandbox/guard/reply.hpp"

namespace piorch::sandbox::guard {

bool reply_status(int listener, std::uint64_t id, int outcome) {
  seccomp_notif_resp answer{};
  answer.id = id;
  answer.error = outcome < 0 ? outcome : 0;
  answer.val = outcome > 0 ? outcome : 0;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

void reply_continue(int listener, std::uint64_t id) {
  seccomp_notif_resp answer{};
  answer.id = id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

namespace {
int hand_over(int listener, std::uint64_t id, int fd, bool close_on_exec, unsigned flags) {
  seccomp_notif_addfd handover{};
  handover.id = id;
  handover.flags = flags;
  handover.srcfd = static_cast<__u32>(fd);
  handover.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  return status(::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handover));
}
} // namespace

int add_descriptor(int listener, std::uint64_t id, int fd, bool close_on_exec) {
  return hand_over(listener, id, fd, close_on_exec, 0);
}

int reply_descriptor(int listener, std::uint64_t id, int fd, bool close_on_exec) {
  const int e = hand_over(listener, id, fd, close_on_exec, SECCOMP_ADDFD_FLAG_SEND);
  if (e >= 0)
    return answered;
  // ESRCH: it went between the two halves of this.
  return e == -ENOENT || e == -ESRCH ? unheard : e;
}

} // namespace piorch::sandbox::guard
