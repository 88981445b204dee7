#include "tests/support/terminal.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::test {

terminal::terminal(program what, int rows, int columns)
    : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  char name[64];
  if (!master_ || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0 ||
      ::ptsname_r(master_.get(), name, sizeof name) != 0)
    throw std::runtime_error("no terminal");
  resize(rows, columns);

  std::vector<std::string> variables = environment_of(what);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // In the new session the first terminal that is opened becomes the controlling one.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  ::posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 2);
  if (!what.directory.empty())
    ::posix_spawn_file_actions_addchdir_np(&actions, what.directory.c_str());
  const int failed = ::posix_spawnp(&pid_, what.argv.at(0).c_str(), &actions, &attributes,
                                    pointers(what.argv).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    throw std::runtime_error("cannot start " + what.argv[0]);
}

terminal::~terminal() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void terminal::type(const std::string& text) const {
  if (::write(master_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot type");
}

void terminal::resize(int rows, int columns) const {
  const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
  if (::ioctl(master_.get(), TIOCSWINSZ, &size) != 0)
    throw std::runtime_error("cannot resize");
}

bool terminal::read_some(milliseconds limit) {
  if (!wait_readable(master_.get(), limit))
    return false;
  char block[4096];
  const ssize_t n = ::read(master_.get(), block, sizeof block);
  if (n <= 0) // EIO: nobody has the other end open
    return false;
  screen_.append(block, static_cast<std::size_t>(n));
  return true;
}

bool terminal::sees(const std::string& text, milliseconds limit) {
  const auto deadline = clock::now() + limit;
  for (;;) {
    if (const auto at = screen_.find(text, seen_); at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
    if (left.count() <= 0 || !read_some(left))
      return false;
  }
}

int terminal::end(milliseconds limit) {
  const auto pidfd = watch_process(pid_);
  const auto deadline = clock::now() + limit;
  while (clock::now() < deadline && read_some(limit)) {
  }
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
  if (!wait_readable(pidfd.get(), left))
    return -1;
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace piorch::test
