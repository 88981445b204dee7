#include "sandbox/guard/supervisor.hpp"

#include "sandbox/guard/filter.hpp"
#include "sandbox/guard/mutex.hpp"

#include <asm/unistd.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace piorch::sandbox::guard {

namespace {

// Two, so that one can look at the next call while the other still waits in ADDFD for
// its caller to run. More were slower (measured).
constexpr int threads = 2;
constexpr int calls_of_one = 8;                // before there is a second one
constexpr std::size_t stack_bytes = 256 << 10; // paths and texts of settings are on it or the heap

// Wrong arguments that the kernel refuses before it looks at a path. 0 or -errno.
int refused_at_once(const seccomp_data& call) {
  const auto open_flags = [](std::uint64_t flags) {
    return (flags & O_CREAT) && (flags & O_DIRECTORY) ? -EINVAL : 0;
  };
  switch (call.nr) {
#if defined(__x86_64__)
    case __NR_open:
      return open_flags(call.args[1]);
    case __NR_mknod:
      return operations::refuses_node(static_cast<mode_t>(call.args[1]));
#endif
    case __NR_openat:
      return open_flags(call.args[2]);
    case __NR_mknodat:
      return operations::refuses_node(static_cast<mode_t>(call.args[2]));
    case __NR_linkat:
      return call.args[4] & ~static_cast<std::uint64_t>(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) &
                     0xffffffffu
                 ? -EINVAL
                 : 0;
    case __NR_renameat2:
      return operations::is_rename(static_cast<unsigned>(call.args[4])) ? 0 : -EINVAL;
    case __NR_truncate:
      return static_cast<off_t>(call.args[1]) < 0 ? -EINVAL : 0;
    default:
      return 0;
  }
}

path_buffer& first_path() {
  static thread_local path_buffer path;
  return path;
}

bool close_on_exec(const seccomp_data& call) {
#if defined(__x86_64__)
  if (call.nr == __NR_open)
    return call.args[1] & O_CLOEXEC;
#endif
  return call.nr == __NR_openat && (call.args[2] & O_CLOEXEC);
}

// 0, -errno, `answered` or `unheard`.
int serve(surroundings& s, thread_state& t, caller& c, const seccomp_data& call) {
  static thread_local path_buffer second;
  path_buffer& first = first_path();
  operations todo(s, t, c);
  const auto number = [&](int n) { return static_cast<int>(call.args[n]); };
  const auto mode = [&](int n) { return static_cast<mode_t>(call.args[n]); };
  const auto path = [&](int n, path_buffer& to) { return c.copy_path(call.args[n], to); };
  int e = refused_at_once(call);
  if (e < 0)
    return e;
  switch (call.nr) {
#if defined(__x86_64__)
    case __NR_open:
      return (e = path(0, first)) ? e : todo.open(AT_FDCWD, first, number(1), mode(2));
    case __NR_creat:
      return (e = path(0, first))
                 ? e
                 : todo.open(AT_FDCWD, first, O_CREAT | O_WRONLY | O_TRUNC, mode(1));
    case __NR_mkdir:
      return (e = path(0, first)) ? e : todo.make_directory(AT_FDCWD, first, mode(1));
    case __NR_mknod:
      return (e = path(0, first)) ? e : todo.make_node(AT_FDCWD, first, mode(1), call.args[2]);
    case __NR_symlink:
      return (e = path(0, first)) || (e = path(1, second))
                 ? e
                 : todo.make_symlink(first, AT_FDCWD, second);
    case __NR_link:
      return (e = path(0, first)) ? e : todo.link(AT_FDCWD, first, AT_FDCWD, call.args[1], 0);
    case __NR_rename:
      return (e = path(0, first)) ? e : todo.rename(AT_FDCWD, first, AT_FDCWD, call.args[1], 0);
#endif
    case __NR_openat:
      return (e = path(1, first)) ? e : todo.open(number(0), first, number(2), mode(3));
    case __NR_mkdirat:
      return (e = path(1, first)) ? e : todo.make_directory(number(0), first, mode(2));
    case __NR_mknodat:
      return (e = path(1, first)) ? e : todo.make_node(number(0), first, mode(2), call.args[3]);
    case __NR_symlinkat:
      return (e = path(0, first)) || (e = path(2, second))
                 ? e
                 : todo.make_symlink(first, number(1), second);
    case __NR_linkat:
      return (e = path(1, first)) ? e
                                  : todo.link(number(0), first, number(2), call.args[3], number(4));
#if defined(__NR_renameat)
    case __NR_renameat:
      return (e = path(1, first)) ? e : todo.rename(number(0), first, number(2), call.args[3], 0);
#endif
    case __NR_renameat2:
      return (e = path(1, first)) ? e
                                  : todo.rename(number(0), first, number(2), call.args[3],
                                                static_cast<unsigned>(call.args[4]));
    case __NR_truncate:
      return (e = path(0, first)) ? e : todo.truncate(first, static_cast<off_t>(call.args[1]));
    case __NR_bind:
      return todo.bind(number(0), call.args[1], static_cast<std::uint32_t>(call.args[2]));
    case __NR_umask:
      __atomic_add_fetch(&s.mask_changes, 1, __ATOMIC_SEQ_CST);
      reply_continue(s.listener, c.id());
      return answered;
    default:
      return -ENOSYS;
  }
}

// Where a signal may take the caller away before it has its answer.
void serve_once(surroundings& s, thread_state& t, caller& c, const seccomp_notif& call) {
  s.lost->begin(c.tid());
  first_path()[0] = 0;
  int outcome = serve(s, t, c, call.data);
  unique_fd fd;
  if (outcome < 0 && s.lost->take(c.tid(), call.data, first_path(), outcome, fd)) {
    const locked nobody_looks(s.configs.looking()); // it may be a copy
    outcome = fd ? reply_descriptor(s.listener, call.id, fd.get(), close_on_exec(call.data)) : 0;
    if (outcome == unheard)
      t.unheard_fd = std::move(fd);
    fd.reset();
  }
  if (outcome <= 0 && !reply_status(s.listener, call.id, outcome))
    outcome = outcome == 0 ? unheard : answered; // a failure comes again by itself
  if (outcome == unheard)
    s.lost->remember(c.tid(), call.data, first_path(), std::move(t.unheard_fd));
  else if (c.alive()) // else it was taken away before anything was done
    s.lost->forget(c.tid());
  s.lost->end(c.tid());
}

// The first thread is made while the child still installs its filter, and begins with its
// listener. The second one is made when a few calls have been served: many commands end before
// (a shell that opens the terminal and tries /dev/tty has made one or two).
struct team {
  team(int proc, int root, const std::vector<rule>& protected_names,
       const std::vector<std::string>& trees, refusal_sink sink)
      : shared(proc, root, protected_names, trees, sink) {}

  surroundings shared;
  pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t opens = PTHREAD_COND_INITIALIZER;

  void open(int listener) {
    const locked l(door);
    shared.listener = listener;
    ::pthread_cond_broadcast(&opens);
  }
  void wait() {
    const locked l(door);
    while (shared.listener < 0)
      ::pthread_cond_wait(&opens, &door);
  }
};

void* supervise(void* argument);

int start_thread(team& t) {
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int e = ::pthread_create(&thread, &attributes, supervise, &t);
  ::pthread_attr_destroy(&attributes);
  return -e;
}

team* working = nullptr; // set and read by PID 1's main thread

void* supervise(void* argument) {
  auto& t = *static_cast<team*>(argument);
  surroundings& s = t.shared;
  thread_state state;
  prepare_thread(state);
  seccomp_notif_sizes sizes{};
  ::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
  const std::size_t bytes = std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif));
  auto* call = static_cast<seccomp_notif*>(std::calloc(1, bytes));
  if (!call)
    ::_exit(125);
  t.wait();
  static std::atomic<int> others{threads - 1};
  for (int calls = 0;;) {
    if (calls <= calls_of_one && calls++ == calls_of_one && others.fetch_sub(1) > 0)
      start_thread(t); // without it, this one serves alone
    std::memset(call, 0, bytes);
    if (::ioctl(s.listener, SECCOMP_IOCTL_NOTIF_RECV, call) != 0) {
      // ENOENT: the caller died first. Or nobody is left who could call: wait for more.
      if (errno != EINTR && errno != ENOENT)
        ::_exit(125); // PID 1's end ends the sandbox: nobody may wait unserved
      pollfd wait{s.listener, POLLIN, 0};
      if (::poll(&wait, 1, -1) > 0 && (wait.revents & POLLHUP) && !(wait.revents & POLLIN))
        return nullptr;
      continue;
    }
    s.configs.catch_up();
    caller c(s.listener, s.proc, *call, s.one_root ? s.root : -1);
    if (s.lost)
      serve_once(s, state, c, *call);
    else if (const int outcome = serve(s, state, c, call->data); outcome <= 0)
      reply_status(s.listener, call->id, outcome);
  }
}

int receive_listener(int from, bool& interruptible) {
  int code = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part{&code, sizeof code};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  ssize_t n;
  do
    n = ::recvmsg(from, &m, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof code))
    return -EPIPE;
  int fd = -1;
  if (const cmsghdr* c = CMSG_FIRSTHDR(&m);
      c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  interruptible = code == 1;
  return fd >= 0 ? fd : code < 0 ? code : -EPROTO;
}

} // namespace

namespace {

// An overlay mounted in a nested user namespace makes names in its upper directory without
// any creating call (copy-up, whiteouts). Any Landlock domain forbids all mounting.
// That it also forbids links and renames between directories does not matter: all of those
// are the supervisor's. Without Landlock it is for the other filter to deny mount(2).
void forbid_mounts() {
  constexpr std::uint64_t make_block_device = 1u << 11;
  const std::uint64_t handled = make_block_device;
  unique_fd domain(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (domain)
    ::syscall(SYS_landlock_restrict_self, domain.get(), 0);
}

} // namespace

bool make_handoff(handoff& h) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return false;
  h.supervisor = pair[0];
  h.command = pair[1];
  return true;
}

int install_and_hand_over(int to, const sock_fprog& other) {
  forbid_mounts();
  bool interruptible = false;
  const int listener = install_filter(other, interruptible);
  int code = listener < 0 ? listener : interruptible ? 1 : 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  iovec part{&code, sizeof code};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (listener >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &listener, sizeof listener);
  }
  const auto sent = ::sendmsg(to, &m, MSG_NOSIGNAL);
  if (listener < 0)
    return listener;
  ::close(listener); // who held it could answer its own calls
  // What the rules led through is known by now: the command could remove it.
  char go = 0;
  if (sent != static_cast<ssize_t>(sizeof code) || ::read(to, &go, 1) != 1)
    return -EPIPE;
  return 0;
}

int start_supervisor(int supervisor_end, const std::vector<rule>& protected_names,
                     const std::vector<std::string>& trees, refusal_sink sink, bool one_root) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const int proc = status(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int root = status(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (proc < 0 || root < 0)
    return proc < 0 ? proc : root;
  auto* t = new (std::nothrow) team(proc, root, protected_names, trees, sink);
  if (!t)
    return -ENOMEM;
  t->shared.one_root = one_root;
  ::mallopt(M_ARENA_MAX, 1); // two threads that allocate little need no heap each
  if (const int e = start_thread(*t); e < 0)
    return e;
  if (::send(supervisor_end, "g", 1, MSG_NOSIGNAL) != 1)
    return -EPIPE;
  bool interruptible = false;
  const int listener = receive_listener(supervisor_end, interruptible);
  if (listener < 0)
    return listener;
  if (interruptible && !(t->shared.lost = new (std::nothrow) lost_answers))
    return -ENOMEM;
  // Since 6.6: the caller runs on this CPU as soon as we wait. Halves the wake-ups' cost.
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  t->open(listener);
  working = t;
  return 0;
}

void end_supervisor() {
  if (!working)
    return;
  // A deed whose result is still being looked at may have to be taken back.
  ::pthread_rwlock_wrlock(&working->shared.deeds);
  working->shared.configs.settle();
}

} // namespace piorch::sandbox::guard
