#include "tools/piorch-broker/stderr_relay.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace piorch::broker {
namespace {

struct pipe_ends {
  pipe_ends() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(fds[0]);
    in.reset(fds[1]);
  }
  ipc::unique_fd out, in;
};

class ToolsStderrRelay : public testing::Test {
protected:
  std::string arrived() const {
    char text[64];
    const auto n = ::read(to.out.get(), text, sizeof text);
    return std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  }

  boost::asio::io_context io;
  pipe_ends from, to;
  std::string seen;
  bool done = false;
  stderr_relay relay{io, std::move(from.out), std::move(to.in),
                     [this](std::string_view bytes) { seen += bytes; }};
};

TEST_F(ToolsStderrRelay, PassesOnAllThatWasSaid) {
  ASSERT_EQ(::write(from.in.get(), "said", 4), 4);
  relay.hold(true);
  relay.finish([this] { done = true; });
  io.poll();
  EXPECT_EQ(arrived(), "") << "a question is on the terminal";
  EXPECT_FALSE(done);
  io.restart();
  relay.hold(false);
  io.poll();
  EXPECT_EQ(arrived(), "said");
  EXPECT_EQ(seen, "said");
  EXPECT_TRUE(done);
}

// Whoever is told to end does not wait for an answer that may never come.
TEST_F(ToolsStderrRelay, GivesUpAlsoWhenItIsHeld) {
  relay.hold(true);
  relay.finish([this] { done = true; });
  relay.give_up();
  EXPECT_TRUE(done);
}

} // namespace
} // namespace piorch::broker
