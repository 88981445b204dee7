#include "ipc/instance.hpp"

#include "config/private_directory.hpp"
#include "ipc/system_error.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace piorch::ipc {

namespace {

constexpr const char* socket_suffix = ".sock";

// Whether the file name still leads to the locked file: its last holder may have
// removed it between our open and our lock.
bool is_same_file(int dir_fd, const std::string& file, int fd) {
  struct stat there {
  }, here{};
  return ::fstatat(dir_fd, file.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &here) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

// Bounds a blocking flock() in this thread: from `limit` on, SIGALRM interrupts it
// again and again (a single one could come just before the call). flock() has no
// time-out of its own, and inotify reports a close before the lock is free.
class alarm_clock {
public:
  explicit alarm_clock(std::chrono::milliseconds limit) {
    struct sigaction quiet {};
    quiet.sa_handler = [](int) {}; // no SA_RESTART
    ::sigaction(SIGALRM, &quiet, &before_);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, &mask_before_);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGALRM;
    event._sigev_un._tid = ::gettid();
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
      return;
    armed_ = true;
    itimerspec when{};
    when.it_value.tv_sec = limit.count() / 1000;
    when.it_value.tv_nsec = limit.count() % 1000 * 1'000'000;
    when.it_interval.tv_nsec = 20'000'000;
    ::timer_settime(timer_, 0, &when, nullptr);
  }
  ~alarm_clock() {
    if (armed_)
      ::timer_delete(timer_);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  alarm_clock(const alarm_clock&) = delete;
  bool armed() const noexcept { return armed_; }

private:
  timer_t timer_{};
  bool armed_ = false;
  struct sigaction before_ {};
  sigset_t mask_before_{};
};

} // namespace

result<instance_directory> instance_directory::open(const std::string& path) {
  if (auto made = config::make_private_directory(path); !made)
    return std::move(made).failed();
  return open_present(path);
}

result<instance_directory> instance_directory::open_present(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd)
    return fault("cannot open the directory " + path);
  struct stat st {}; // of what is pinned: the name may have been swapped since
  if (::fstat(fd.get(), &st) != 0)
    return fault("cannot look at the directory " + path);
  if (st.st_uid != ::geteuid() || (st.st_mode & 077) != 0)
    return error{failure::fault, path + " is not a private directory of this user"};
  return instance_directory(std::move(fd), path);
}

std::string workers_directory(const std::string& instances) { return instances + "/workers"; }

void sweep_instances(const std::string& instances) noexcept {
  for (const auto& path : {instances, workers_directory(instances)})
    if (const auto dir = instance_directory::open_present(path))
      dir->sweep();
}

std::string instance_directory::socket_path(const std::string& name) const {
  return "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + name + socket_suffix;
}

std::vector<std::string> instance_directory::names() const {
  std::vector<std::string> out;
  const int copy = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = copy < 0 ? nullptr : ::fdopendir(copy);
  if (dir == nullptr) {
    if (copy >= 0)
      ::close(copy);
    return out;
  }
  while (const dirent* entry = ::readdir(dir)) {
    std::string name = entry->d_name;
    const std::size_t suffix = std::string_view(socket_suffix).size();
    if (name.size() > suffix && name.compare(name.size() - suffix, suffix, socket_suffix) == 0)
      out.push_back(name.substr(0, name.size() - suffix));
  }
  ::closedir(dir);
  std::sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return std::make_pair(a != default_instance, a) < std::make_pair(b != default_instance, b);
  });
  return out;
}

void instance_directory::sweep() const {
  for (const auto& name : names())
    if (auto lock = lock_file::take(*this, name, std::chrono::milliseconds(0)); lock && *lock)
      ::unlinkat(fd_.get(), (name + socket_suffix).c_str(), 0);
}

result<std::optional<lock_file>> lock_file::take(const instance_directory& dir,
                                                 const std::string& name,
                                                 std::chrono::milliseconds limit) {
  const std::string file = name + ".lock";
  const auto until = std::chrono::steady_clock::now() + limit;
  std::optional<alarm_clock> clock;
  if (limit.count() > 0) {
    clock.emplace(limit);
    if (!clock->armed())
      return fault("cannot set a timer");
  }
  for (;;) {
    unique_fd fd(::openat(dir.fd(), file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd)
      return fault("cannot open the lock " + dir.path() + "/" + file);
    while (::flock(fd.get(), LOCK_EX | (clock ? 0 : LOCK_NB)) != 0) {
      if (errno == EWOULDBLOCK)
        return std::optional<lock_file>();
      if (errno != EINTR)
        return fault("cannot lock " + dir.path() + "/" + file);
      if (std::chrono::steady_clock::now() >= until)
        return std::optional<lock_file>();
    }
    if (is_same_file(dir.fd(), file, fd.get()))
      return std::optional(lock_file(dir.fd(), std::move(fd), file));
    // Its last holder removed it between our open and our lock: make a new one.
  }
}

lock_file& lock_file::operator=(lock_file&& other) noexcept {
  let_go();
  dir_fd_ = other.dir_fd_;
  fd_ = std::move(other.fd_);
  file_ = std::move(other.file_);
  return *this;
}

lock_file::~lock_file() { let_go(); }

void lock_file::let_go() noexcept {
  if (!fd_)
    return;
  ::unlinkat(dir_fd_, file_.c_str(), 0); // before the lock ends: whoever waits sees a new file
  fd_.reset();
}

void lock_file::write_pid(std::int64_t pid) const {
  const std::string text = std::to_string(pid) + "\n";
  if (::ftruncate(fd_.get(), 0) == 0)
    (void)!::pwrite(fd_.get(), text.data(), text.size(), 0); // only informs people
}

result<done> check_peer(int socket) {
#if defined(__linux__)
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fault("cannot learn who is at the other end of the socket");
  const uid_t uid = peer.uid;
#else
  uid_t uid = 0;
  gid_t gid = 0;
  if (::getpeereid(socket, &uid, &gid) != 0)
    return fault("cannot learn who is at the other end of the socket");
#endif
  if (uid != ::geteuid())
    return error{failure::fault, "the process at the other end of the socket belongs to user " +
                                     std::to_string(uid)};
  return done{};
}

} // namespace piorch::ipc
