#include "ipc/fd_passing.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

namespace piorch::ipc {
namespace {

std::pair<unique_fd, unique_fd> pair(int type) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd)
    count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST(IpcFdPassing, PassesWorkingDescriptorsCloseOnExec) {
  for (int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    auto [a, b] = pair(type);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    unique_fd reading(ends[0]), writing(ends[1]);
    ASSERT_TRUE(send_fds(a.get(), "job", {writing.get()}));
    writing.reset();
    char buffer[16];
    auto got = receive_fds(b.get(), buffer, sizeof buffer, 1);
    ASSERT_TRUE(got) << got.failed().text;
    EXPECT_EQ(std::string(buffer, got->bytes), "job");
    ASSERT_EQ(got->fds.size(), 1u);
    EXPECT_EQ(::fcntl(got->fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ASSERT_EQ(::write(got->fds[0].get(), "x", 1), 1);
    EXPECT_EQ(::read(reading.get(), buffer, 1), 1);
  }
}

TEST(IpcFdPassing, ClosesWhatItRefuses) {
  auto [a, b] = pair(SOCK_STREAM);
  const int before = open_descriptors();
  ASSERT_TRUE(send_fds(a.get(), "x", std::vector<int>(max_passed_fds, a.get())));
  char buffer[4];
  EXPECT_FALSE(receive_fds(b.get(), buffer, sizeof buffer, max_passed_fds - 1));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_FALSE(send_fds(a.get(), "x", std::vector<int>(max_passed_fds + 1, a.get())));
}

TEST(IpcFdPassing, ReportsAClosedPeer) {
  auto [a, b] = pair(SOCK_SEQPACKET);
  a.reset();
  char buffer[4];
  auto got = receive_fds(b.get(), buffer, sizeof buffer, 1);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, 0u);
  EXPECT_FALSE(send_fds(b.get(), "x", {}));
}

TEST(IpcFdPassing, RefusesACutMessage) {
  auto [a, b] = pair(SOCK_SEQPACKET);
  ASSERT_TRUE(send_fds(a.get(), "too long for it", {a.get()}));
  const int before = open_descriptors();
  char buffer[4];
  EXPECT_FALSE(receive_fds(b.get(), buffer, sizeof buffer, 1));
  EXPECT_EQ(open_descriptors(), before);
}

} // namespace
} // namespace piorch::ipc
