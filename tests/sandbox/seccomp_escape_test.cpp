// Ways out that a list of forbidden calls forgets easily. Each is tried in a
// child under the real filter; without it each would work.
#include "sandbox/seccomp.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

// The errno of `attempt` (0: it worked) in a child, under the filter or not.
int errno_of(const std::function<bool()>& attempt, bool filtered) {
  auto program = make_filter();
  EXPECT_TRUE(program);
  const pid_t child = ::fork();
  if (child == 0) {
    sock_fprog f{static_cast<unsigned short>(program->size()), program->data()};
    if (filtered && (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                     ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f) != 0))
      ::_exit(255);
    ::_exit(attempt() ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool pair_of(int type) {
  int fds[2];
  return ::socketpair(AF_UNIX, type, 0, fds) == 0;
}

class SeccompEscape : public ::testing::Test {
protected:
  SeccompEscape() {
    char name[] = "/tmp/seccomp-XXXXXX";
    fd_ = ::mkstemp(name);
    path_ = name;
  }
  ~SeccompEscape() override {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  int fd_;
  std::string path_;
};

TEST_F(SeccompEscape, DatagramPairsThatCouldBeConnectedAnew) {
  for (const int type : std::initializer_list<int>{SOCK_DGRAM, SOCK_RAW, SOCK_DGRAM | SOCK_CLOEXEC,
                                                   SOCK_RAW | SOCK_NONBLOCK}) {
    EXPECT_EQ(errno_of([=] { return pair_of(type); }, true), EPERM) << type;
    EXPECT_EQ(errno_of([=] { return pair_of(type); }, false), 0) << type;
  }
  for (const int type : std::initializer_list<int>{SOCK_STREAM, SOCK_SEQPACKET,
                                                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK})
    EXPECT_EQ(errno_of([=] { return pair_of(type); }, true), 0) << type;
}

TEST_F(SeccompEscape, SetUserIdFiles) {
  const char* path = path_.c_str();
  const std::function<bool()> ways[] = {
      [=] { return ::chmod(path, 04755) == 0; },
      [this] { return ::fchmod(fd_, 04755) == 0; },
      [=] { return ::fchmodat(AT_FDCWD, path, 04755, 0) == 0; },
      [=] { return ::syscall(452, AT_FDCWD, path, 04755, 0) == 0 || errno == ENOSYS; }, // fchmodat2
      [=] { return ::open((std::string(path) + "1").c_str(), O_CREAT | O_WRONLY, 04755) >= 0; },
      [=] { return ::mknod((std::string(path) + "2").c_str(), S_IFREG | 04755, 0) == 0; },
      [=] { return ::open("/tmp", O_TMPFILE | O_WRONLY, 04755) >= 0; },
  };
  for (const auto& way : ways) {
    const auto clean = [this] {
      ::unlink((path_ + "1").c_str());
      ::unlink((path_ + "2").c_str());
    };
    EXPECT_EQ(errno_of(way, false), 0);
    clean();
    const int error = errno_of(way, true);
    EXPECT_TRUE(error == EPERM || error == ENOSYS) << error;
    clean();
  }
  EXPECT_EQ(errno_of([=] { return ::chmod(path, 01777) == 0; }, true), 0);
  EXPECT_EQ(errno_of([=] { return ::open(path, O_RDONLY, 04755) >= 0; }, true), 0);
}

TEST_F(SeccompEscape, CallsThatDoNotExistYet) {
  for (const int number : {470, 600, 100000})
    EXPECT_EQ(errno_of([=] { return ::syscall(number, 0, 0, 0) == 0; }, true), ENOSYS) << number;
}

} // namespace
} // namespace piorch::sandbox
