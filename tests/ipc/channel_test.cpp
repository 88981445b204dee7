#include "ipc/channel.hpp"

#include "asio_thread.hpp"
#include "config/limits.hpp"

#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include <algorithm>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;

// Two ends on one io_context that the test runs itself: no thread.
class IpcChannel : public ::testing::Test {
protected:
  struct side {
    std::shared_ptr<channel> line;
    std::vector<std::pair<frame_type, std::string>> frames;
    std::size_t streamed = 0;
    std::string closed;
    int closes = 0;
    std::function<void()> on_credit;
    std::function<void(std::size_t)> on_stream;
    void start(boost::asio::io_context& on, unique_fd fd) {
      line = channel::make(on, std::move(fd));
      line->start({[this](frame f) {
                     if (is_stream(f.type)) {
                       streamed += f.payload.size();
                       if (on_stream)
                         on_stream(f.payload.size());
                     } else {
                       frames.emplace_back(f.type, f.payload);
                     }
                   },
                   [this] {
                     if (on_credit)
                       on_credit();
                   },
                   [this](const std::string& why) { closed = why, ++closes; }});
    }
  };
  IpcChannel() {
    std::signal(SIGPIPE, SIG_IGN);
    auto [a, b] = socket_pair();
    left.start(io, std::move(a));
    right.start(io, std::move(b));
  }
  // Runs what is ready; a quiet time of 50 ms ends it.
  void settle() {
    while (io.run_one_for(50ms) > 0) {
    }
  }
  boost::asio::io_context io{1};
  side left, right;
};

TEST_F(IpcChannel, CarriesFramesBothWaysInOrder) {
  left.line->send(frame_type::job, R"({"argv":["true"]})");
  left.line->send(frame_type::signal, "\x0f");
  right.line->send(frame_type::started);
  settle();
  ASSERT_EQ(right.frames.size(), 2u);
  EXPECT_EQ(right.frames[0].second, R"({"argv":["true"]})");
  EXPECT_EQ(right.frames[1].first, frame_type::signal);
  ASSERT_EQ(left.frames.size(), 1u);
}

TEST_F(IpcChannel, AnUnreadConsumerStopsTheProducer) {
  // The producer streams whatever it may; the consumer grants nothing.
  const std::string chunk(limits::channel_chunk_bytes, 'x');
  const auto produce = [&] {
    while (left.line->credit() > 0)
      left.line->stream(frame_type::output, std::string_view(chunk).substr(
                                                0, std::min(left.line->credit(), chunk.size())));
  };
  left.on_credit = produce;
  produce();
  settle();
  EXPECT_EQ(right.streamed, limits::channel_window_bytes);
  EXPECT_EQ(left.line->credit(), 0u);
  // Half of the window is consumed: so much comes after it, and no more.
  right.line->grant(limits::channel_window_bytes / 2);
  settle();
  EXPECT_EQ(right.streamed, limits::channel_window_bytes * 3 / 2);
  // Other frames still pass a stopped stream.
  left.line->send(frame_type::network_event, "{}");
  settle();
  EXPECT_EQ(right.frames.size(), 1u);
}

TEST_F(IpcChannel, AConsumerThatKeepsUpNeverStallsTheStream) {
  const std::string chunk(10000, 'x');
  std::size_t rest = 64u << 20;
  const auto produce = [&] {
    while (rest > 0 && left.line->credit() > 0) {
      const std::size_t n = std::min({left.line->credit(), chunk.size(), rest});
      left.line->stream(frame_type::output, std::string_view(chunk).substr(0, n));
      rest -= n;
    }
  };
  left.on_credit = produce;
  right.on_stream = [&](std::size_t n) { right.line->grant(n); };
  produce();
  settle();
  EXPECT_EQ(rest, 0u);
  EXPECT_EQ(right.streamed, 64u << 20);
}

TEST_F(IpcChannel, LastWordsAreReadThoughThePeerTakesNoneAnyMore) {
  auto [a, b] = socket_pair();
  std::string bytes;
  for (int i = 0; i < 20; ++i)
    append_frame(bytes, frame_type::failed, std::string(4000, 'x'));
  ASSERT_EQ(::send(b.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  b.reset();
  side honest;
  honest.start(io, std::move(a));
  honest.line->send(frame_type::stop, {}); // there is nobody
  settle();
  EXPECT_EQ(honest.frames.size(), 20u);
  EXPECT_EQ(honest.closes, 1);
  EXPECT_EQ(honest.closed, "");
}

TEST_F(IpcChannel, CutsOffAPeerThatSendsMoreThanAllowed) {
  auto [a, b] = socket_pair();
  side honest;
  honest.start(io, std::move(a));
  std::string bytes;
  for (std::size_t n = 0; n <= limits::channel_window_bytes; n += limits::channel_chunk_bytes)
    append_frame(bytes, frame_type::output, std::string(limits::channel_chunk_bytes, 'x'));
  std::thread villain([&, fd = b.get()] {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n <= 0)
        break;
      at += static_cast<std::size_t>(n);
    }
  });
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (honest.closes == 0 && std::chrono::steady_clock::now() < end)
    io.run_one_for(50ms);
  ::shutdown(b.get(), SHUT_RDWR); // whatever happened, it is not to wait for ever
  villain.join();
  EXPECT_EQ(honest.closes, 1);
  EXPECT_NE(honest.closed.find("more than it was allowed"), std::string::npos);
}

TEST_F(IpcChannel, CutsOffAPeerThatInflatesItsCredit) {
  auto [a, b] = socket_pair();
  side honest;
  honest.start(io, std::move(a));
  std::string bytes;
  append_frame(bytes, frame_type::credit, credit_payload(1));
  ASSERT_GT(::send(b.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  settle();
  EXPECT_EQ(honest.closes, 1);
  EXPECT_NE(honest.closed.find("more than the window"), std::string::npos);
}

TEST_F(IpcChannel, TellsGarbageAndAHalfFrameFromAnEnd) {
  for (const auto& [bytes, expected] :
       {std::pair{std::string("\xff\xff\xff\xff\xff garbage"), std::string("unknown type")},
        std::pair{std::string("\5\0\0\0\x21"
                              "ab",
                              7),
                  std::string("within a frame")},
        std::pair{std::string(), std::string()}}) {
    auto [a, b] = socket_pair();
    side honest;
    honest.start(io, std::move(a));
    ASSERT_EQ(::send(b.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    b.reset();
    settle();
    EXPECT_EQ(honest.closes, 1);
    if (expected.empty())
      EXPECT_EQ(honest.closed, "");
    else
      EXPECT_NE(honest.closed.find(expected), std::string::npos) << honest.closed;
  }
}

TEST_F(IpcChannel, ShutSendsWhatIsQueuedFirst) {
  const std::string job(8u << 20, 'j');
  left.line->send(frame_type::job, job);
  left.line->shut();
  settle();
  ASSERT_EQ(right.frames.size(), 1u);
  EXPECT_EQ(right.frames[0].second, job);
  EXPECT_EQ(right.closes, 1);
  EXPECT_EQ(right.closed, "");
}

TEST_F(IpcChannel, BoundsWhatWaitsForAPeerThatDoesNotRead) {
  auto [a, b] = socket_pair(); // b is never read
  side honest;
  honest.start(io, std::move(a));
  const std::string note(32u << 10, 'n');
  for (std::size_t n = 0; n < 2 * limits::channel_queue_bytes && honest.closes == 0;
       n += note.size())
    honest.line->send(frame_type::network_event, note);
  EXPECT_EQ(honest.closes, 1);
}

TEST_F(IpcChannel, DropIsSilentAndFinal) {
  left.line->drop();
  left.line->send(frame_type::stop);
  settle();
  EXPECT_EQ(left.closes, 0);
  EXPECT_EQ(right.closes, 1);
  const std::weak_ptr<channel> watched = left.line;
  left.line.reset();
  settle();
  EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace piorch::ipc
