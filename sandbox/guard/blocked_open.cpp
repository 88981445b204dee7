#include "sandbox/guard/blocked_open.hpp"

#include "sandbox/guard/reply.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <pthread.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace piorch::sandbox::guard {

namespace {

constexpr int opens_at_most = 256;
std::atomic<int> open_count{0};

struct blocked {
  blocked(const caller& c, int fd, int open_flags, bool on_exec)
      : listener(c.listener()), proc(c.proc()), call(notification(c)), pinned(fd),
        flags(open_flags), close_on_exec(on_exec) {}
  static seccomp_notif notification(const caller& c) {
    seccomp_notif n{};
    n.id = c.id();
    n.pid = static_cast<__u32>(c.tid());
    return n;
  }
  int listener, proc;
  seccomp_notif call;
  unique_fd pinned;
  int flags;
  bool close_on_exec;
};

// The kernel tells nobody that a waiting caller has died or has a signal pending, so the
// open is interrupted now and then to look. Only while something really waits.
bool interrupt_this_thread_regularly(timer_t& timer) {
  struct sigaction act {};
  act.sa_handler = [](int) {};
  ::sigaction(SIGRTMIN + 1, &act, nullptr);
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGRTMIN + 1);
  ::pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN + 1;
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
  constexpr itimerspec every{{0, 20000000}, {0, 20000000}};
  return ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
         ::timer_settime(timer, 0, &every, nullptr) == 0;
}

// Before the descriptor is handed over: interrupted in that, the kernel would take it back
// and let the caller's open return 0, as if that were it.
void no_more_interruptions() {
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGRTMIN + 1);
  ::pthread_sigmask(SIG_BLOCK, &mine, nullptr);
}

void* serve(void* argument) {
  auto* b = static_cast<blocked*>(argument);
  timer_t timer{};
  int outcome = -EAGAIN;
  if (interrupt_this_thread_regularly(timer)) {
    char name[40];
    std::snprintf(name, sizeof name, "self/fd/%d", b->pinned.get());
    for (;;) {
      const int fd = status(::openat(b->proc, name, b->flags));
      if (fd >= 0) {
        no_more_interruptions();
        outcome = reply_descriptor(b->listener, b->call.id, fd, b->close_on_exec);
        ::close(fd);
        break;
      }
      outcome = fd;
      if (fd != -EINTR)
        break;
      caller c(b->listener, b->proc, b->call);
      const bool signalled = c.signal_waits();
      outcome = c.alive() ? restart_call : answered;
      if (outcome == answered || signalled)
        break;
    }
    ::timer_delete(timer);
  }
  if (outcome <= 0)
    reply_status(b->listener, b->call.id, outcome);
  delete b;
  --open_count;
  return nullptr;
}

} // namespace

int open_in_own_thread(caller& c, int pinned, int flags, bool close_on_exec) {
  auto* b = new (std::nothrow) blocked(c, pinned, flags, close_on_exec);
  if (!b)
    return -ENOMEM;
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 64 << 10);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool started =
      ++open_count <= opens_at_most && ::pthread_create(&thread, &attributes, serve, b) == 0;
  ::pthread_attr_destroy(&attributes);
  if (started)
    return answered;
  --open_count;
  delete b;
  return -EAGAIN;
}

} // namespace piorch::sandbox::guard
