#include "ipc/stream_session.hpp"

#include "asio_thread.hpp"
#include "config/limits.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <string>
#include <vector>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;

// What a session's owner saw, and a way to wait for it.
class owner {
public:
  stream_session::handlers handlers() {
    return {[this](line_buffer::line line) {
              note([&] { lines.emplace_back(line.what, std::string(line.text)); });
              if (on_line)
                on_line();
            },
            [this](std::size_t n) { note([&] { written += n; }); },
            [this](const std::string& text) { note([&] { closed = text, ++closes; }); }};
  }
  template <class Ready> bool wait(Ready ready) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, ready);
  }
  std::vector<std::pair<line_buffer::kind, std::string>> lines;
  std::size_t written = 0;
  std::string closed;
  int closes = 0;
  std::function<void()> on_line; // on the Asio thread

private:
  template <class Fn> void note(Fn fn) {
    const std::lock_guard lock(mutex_);
    fn();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
};

class IpcStreamSession : public ::testing::Test {
protected:
  IpcStreamSession() {
    auto [a, b] = socket_pair();
    peer = std::move(b);
    session = stream_session::make(asio.io, std::move(a));
  }
  void start() {
    asio.run([&] { session->start(seen.handlers()); });
  }
  void say(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::send(peer.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      at += static_cast<std::size_t>(n);
    }
  }
  // Everything until the end of the stream or `size` bytes.
  std::string hear(std::size_t size) {
    std::string out(size, '\0');
    std::size_t at = 0;
    while (at < size) {
      const ssize_t n = ::read(peer.get(), out.data() + at, size - at);
      if (n <= 0)
        break;
      at += static_cast<std::size_t>(n);
    }
    out.resize(at);
    return out;
  }

  owner seen; // outlives the thread that calls it
  unique_fd peer;
  asio_thread asio;
  std::shared_ptr<stream_session> session;
};

TEST_F(IpcStreamSession, CarriesLinesBothWays) {
  start();
  say("one\ntw");
  say("o\nhalf");
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 2; }));
  session->send("answer");
  session->send("second");
  EXPECT_EQ(hear(14), "answer\nsecond\n");
  ::shutdown(peer.get(), SHUT_WR);
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  ASSERT_EQ(seen.lines.size(), 3u);
  EXPECT_EQ(seen.lines[1].second, "two");
  EXPECT_EQ(seen.lines[2], std::make_pair(line_buffer::kind::partial, std::string("half")));
}

TEST_F(IpcStreamSession, StillAnswersAPeerThatHasFinishedAsking) {
  start();
  say("q\n");
  ::shutdown(peer.get(), SHUT_WR);
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  const std::string big(4u << 20, 'a');
  session->send(big);
  session->shut(10s);
  EXPECT_EQ(hear(big.size() + 2), big + "\n");
}

TEST_F(IpcStreamSession, ReportsAnOversizedLineAndGoesOn) {
  start();
  say(std::string(limits::protocol_line_bytes + 1, 'x') + "\nafter\n");
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 2; }));
  EXPECT_EQ(seen.lines[0].first, line_buffer::kind::oversized);
  EXPECT_EQ(seen.lines[1].second, "after");
}

TEST_F(IpcStreamSession, StopsReadingFromAPeerThatDoesNotRead) {
  // Every line is answered with 64 KiB. The peer asks for ever and reads nothing:
  // it must come to a stand, with a bounded number of answers waiting for it.
  const std::string answer(64u << 10, 'a');
  seen.on_line = [&] { session->send(answer); };
  start();
  ::fcntl(peer.get(), F_SETFL, O_NONBLOCK);
  const std::string questions(4096, '\n');
  std::size_t sent = 0;
  for (;;) {
    const ssize_t n = ::send(peer.get(), questions.data(), questions.size(), MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    pollfd room{peer.get(), POLLOUT, 0};
    if (::poll(&room, 1, 300) == 0)
      break; // nothing was taken for long: it stands
    ASSERT_LT(sent, 64u << 20);
  }
  std::size_t taken = 0;
  asio.run([&] { taken = seen.lines.size(); });
  EXPECT_LT(taken, 10 * limits::client_queue_bytes / answer.size());
  // It reads again: all goes on, and every question gets its answer.
  ::fcntl(peer.get(), F_SETFL, 0);
  ::shutdown(peer.get(), SHUT_WR);
  EXPECT_EQ(hear(100 * answer.size()).size(), 100 * answer.size());
}

TEST_F(IpcStreamSession, DropsAPeerThatLetsTheQueueGrowWithoutBound) {
  start();
  const std::string chunk(8u << 20, 'x');
  for (std::size_t n = 0; n <= limits::client_queue_bytes_max; n += chunk.size())
    session->send(chunk);
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  EXPECT_NE(seen.closed.find("does not read"), std::string::npos);
}

TEST_F(IpcStreamSession, HoldsLinesUntilTheOwnerIsReady) {
  seen.on_line = [&] { session->hold(); };
  start();
  say("1\n2\n3\n");
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 1; }));
  asio.run([] {});
  EXPECT_EQ(seen.lines.size(), 1u);
  asio.run([&] { session->release(); });
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 2; }));
  asio.run([&] {
    seen.on_line = nullptr;
    session->release();
  });
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 3; }));
}

TEST_F(IpcStreamSession, TellsHowMuchLeftTheQueue) {
  start();
  session->send("12345");
  ASSERT_TRUE(seen.wait([&] { return seen.written == 6; }));
}

TEST_F(IpcStreamSession, NoticesAPeerThatVanishes) {
  start();
  peer.reset();
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  session->send("into the void");
  session->shut();
  asio.run([] {});
  EXPECT_EQ(seen.closes, 1);
}

TEST_F(IpcStreamSession, EndsAPeerThatDoesNotTakeItsLastWords) {
  start();
  session->send(std::string(8u << 20, 'x'));
  const std::weak_ptr<stream_session> watched = session;
  session->shut(50ms);
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  session.reset();
  for (int turn = 0; turn < 10; ++turn) // cancelled operations report one after the other
    asio.run([] {});
  EXPECT_TRUE(watched.expired());
}

TEST(IpcStreamSessionPair, SpeaksOverTwoPipes) {
  int in[2], out[2];
  ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  owner seen;
  asio_thread asio;
  auto session = stream_session::make(asio.io, unique_fd(in[0]), unique_fd(out[1]));
  asio.run([&] { session->start(seen.handlers()); });
  ASSERT_EQ(::write(in[1], "hi\n", 3), 3);
  ASSERT_TRUE(seen.wait([&] { return seen.lines.size() == 1; }));
  session->send("ho");
  char got[3];
  ASSERT_EQ(::read(out[0], got, 3), 3);
  ::close(in[1]);
  ASSERT_TRUE(seen.wait([&] { return seen.closes == 1; }));
  ::close(out[0]);
}

} // namespace
} // namespace piorch::ipc
