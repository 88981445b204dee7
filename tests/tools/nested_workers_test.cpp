#include "tools/piorch-broker/nested_workers.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace piorch::broker {
namespace {

ipc::unique_fd tcp() { return ipc::unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

bool is_readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST(ToolsNestedWorkers, WithoutDescriptorsOneWaitsQuietlyAndThenIsLetIn) {
  boost::asio::io_context io;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const ipc::unique_fd supervisor(ends[0]);
  sandbox::hand_over job;
  job.supervisor.reset(ends[1]);
  supervisor_line line(io, job, [](const auto&) {});
  nested_workers nested(io, line);

  auto door = tcp();
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(door.get(), 4), 0);
  ASSERT_EQ(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  nested.listen(std::move(door));
  const auto client = tcp();
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::send(client.get(), "name\n", 5, MSG_NOSIGNAL), 5);

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  int steps = 0;
  while (steps < 1000 && io.poll_one() > 0)
    ++steps;
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_LT(steps, 100) << "accept spins";

  while (!is_readable(supervisor.get()) && io.run_one_for(std::chrono::seconds(20)) > 0) {
  }
  EXPECT_TRUE(is_readable(supervisor.get())) << "it asks for a seat";
  nested.stop();
}

} // namespace
} // namespace piorch::broker
