#include "tests/support/run.hpp"

#include "tests/support/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::test {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

int left_until(clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

struct pipe_ends {
  ipc::unique_fd read, write;
};

pipe_ends make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    fail("pipe2");
  return {ipc::unique_fd(fds[0]), ipc::unique_fd(fds[1])};
}

ipc::unique_fd input_of(const std::string& text) {
  ipc::unique_fd fd(::memfd_create("input", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0)
    fail("memfd");
  return fd;
}

} // namespace

std::vector<std::string> environment_of(const program& what) {
  std::vector<std::string> out;
  for (char** e = what.clean_environment ? nullptr : environ; e && *e; ++e) {
    const std::string entry = *e;
    if (what.environment.count(entry.substr(0, entry.find('='))) == 0)
      out.push_back(entry);
  }
  for (const auto& [name, value] : what.environment)
    if (value)
      out.push_back(name + "=" + *value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words)
    out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

child::child(program what) : begun_(clock::now()) {
  pipe_ends in, out = make_pipe(), err = make_pipe();
  if (what.keep_input_open)
    in = make_pipe();
  else
    in.read = input_of(what.input);
  std::vector<std::string> variables = environment_of(what);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  for (const int fd : what.extra_fds) // onto itself: clears close-on-exec
    ::posix_spawn_file_actions_adddup2(&actions, fd, fd);
  if (!what.directory.empty())
    ::posix_spawn_file_actions_addchdir_np(&actions, what.directory.c_str());
  if (what.new_session)
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  errno = ::posix_spawnp(&pid_, what.argv.at(0).c_str(), &actions, &attributes,
                         pointers(what.argv).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (errno != 0) {
    pid_ = -1;
    fail("cannot start " + what.argv[0]);
  }
  pidfd_ = watch_process(pid_);
  in_ = std::move(in.write);
  out_fd_ = std::move(out.read);
  err_fd_ = std::move(err.read);
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)),
      in_(std::move(other.in_)), out_fd_(std::move(other.out_fd_)),
      err_fd_(std::move(other.err_fd_)), out_(std::move(other.out_)), err_(std::move(other.err_)),
      out_bytes_(other.out_bytes_), begun_(other.begun_) {}

child::~child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void child::write(const std::string& text) const {
  if (::write(in_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("write");
}

bool child::read_some(clock::time_point deadline) {
  pollfd wait[2] = {{out_fd_.get(), POLLIN, 0}, {err_fd_.get(), POLLIN, 0}};
  if ((!out_fd_ && !err_fd_) || ::poll(wait, 2, left_until(deadline)) <= 0)
    return false;
  const auto take = [](const pollfd& w, ipc::unique_fd& fd, std::string& to) -> std::size_t {
    if (!w.revents)
      return 0;
    static thread_local char block[1 << 16];
    const ssize_t n = ::read(fd.get(), block, sizeof block);
    if (n <= 0) {
      fd.reset();
      return 0;
    }
    to.append(block, std::min(static_cast<std::size_t>(n), capture_bytes - to.size()));
    return static_cast<std::size_t>(n);
  };
  out_bytes_ += take(wait[0], out_fd_, out_);
  take(wait[1], err_fd_, err_);
  return true;
}

bool child::read_until(const std::string& text, milliseconds limit) {
  const auto deadline = clock::now() + limit;
  while (out_.find(text) == std::string::npos)
    if (!out_fd_ || !read_some(deadline))
      return false;
  return true;
}

bool child::read_bytes(std::size_t count, milliseconds limit) {
  const auto deadline = clock::now() + limit;
  while (out_bytes_ < count)
    if (!out_fd_ || !read_some(deadline))
      return false;
  return true;
}

bool child::read_to_end(milliseconds limit) {
  const auto deadline = clock::now() + limit;
  while (out_fd_)
    if (!read_some(deadline))
      return false;
  return true;
}

void child::reap(clock::time_point deadline, finished& to) {
  if (!wait_readable(pidfd_.get(), milliseconds(left_until(deadline)))) {
    to.overdue = true;
    ::kill(pid_, SIGKILL);
  }
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  to.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

finished child::finish(milliseconds limit) {
  const auto deadline = clock::now() + limit;
  in_.reset();
  while (read_some(deadline)) {
  }
  finished out;
  out.overdue = out_fd_ || err_fd_;
  reap(out.overdue ? clock::now() : deadline, out);
  out.out = std::move(out_);
  out.err = std::move(err_);
  out.out_bytes = out_bytes_;
  out.took = std::chrono::duration_cast<milliseconds>(clock::now() - begun_);
  return out;
}

finished run(program what, milliseconds limit) { return child(std::move(what)).finish(limit); }

bool wait_readable(int fd, milliseconds limit) {
  pollfd wait{fd, POLLIN, 0};
  int rc;
  do
    rc = ::poll(&wait, 1, limit.count() > 0 ? static_cast<int>(limit.count()) : 0);
  while (rc < 0 && errno == EINTR);
  return rc > 0;
}

ipc::unique_fd watch_process(pid_t pid) {
  return ipc::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> out;
  DIR* d = ::opendir("/proc");
  if (!d)
    fail("/proc");
  while (const dirent* e = ::readdir(d)) {
    const pid_t pid = static_cast<pid_t>(std::atol(e->d_name));
    if (pid <= 0 || pid == ::getpid())
      continue;
    if (read_file("/proc/" + std::string(e->d_name) + "/cmdline").find(text) != std::string::npos)
      out.push_back(pid);
  }
  ::closedir(d);
  return out;
}

std::vector<pid_t> children_of(pid_t pid) {
  // Not the kernel's own lists of children: they leave some out when another one ends meanwhile.
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = read_file(entry.path() / "stat"); // PID (COMMAND) STATE PARENT ...
    const auto behind = stat.rfind(')');
    if (behind != std::string::npos && behind + 4 < stat.size() &&
        std::atoi(stat.c_str() + behind + 4) == pid)
      out.push_back(std::atoi(stat.c_str()));
  }
  return out;
}

std::string name_of_process(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string out;
  std::getline(in, out);
  return out;
}

} // namespace piorch::test
