// The client's own side of a conversation.
#include "ipc/client.hpp"

#include "asio_thread.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace piorch::ipc {
namespace {

using namespace std::chrono_literals;

TEST(IpcClient, TakesNotificationsAndQuestionsWhileItWaitsForAnAnswer) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  std::thread server([fd = b.get()] {
    std::string got;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n')
      got += c;
    const std::string answer =
        "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"no\"}}\n";
    (void)!::write(fd, answer.data(), answer.size());
  });
  std::vector<std::string> others;
  peer.on_other = [&](rpc_message& m) { others.push_back(m.method); };
  auto got = peer.call(session_status_params{"x"}, 5s);
  server.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.failed().code, failure::unknown_session);
  EXPECT_EQ(others, (std::vector<std::string>{"note", "ask"}));
}

TEST(IpcClient, KeepsWhatComesBeforeAnAnswerForWhoeverReadsNext) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  const auto first = peer.request(session_status_params{"x"});
  // The answer to another request of ours, a question, then what call() waits for.
  const std::string lines = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n"
                            "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":{}}\n"
                            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":2}}\n";
  ASSERT_EQ(::write(b.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  auto got = peer.call(session_status_params{"y"}, 5s);
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)["n"], 2);
  auto kept = peer.receive(client::clock::now());
  ASSERT_TRUE(kept && kept->what == client::incoming::kind::message);
  const auto answer = client::answer_to(first, kept->message);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((**answer)["n"], 1);
  auto also = client::receive_any({&peer}, client::clock::now());
  ASSERT_TRUE(also.what && also.what->what == client::incoming::kind::message);
  EXPECT_EQ(also.what->message.method, "ask");
}

TEST(IpcClient, TakesTheNextMessageOfAnyConnection) {
  auto [a, x] = socket_pair();
  auto [b, y] = socket_pair();
  client one(std::move(a)), two(std::move(b));
  const std::vector<client*> both{&one, &two};
  const std::string note = "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{}}\n";
  const auto soon = [] { return client::clock::now() + 5s; };
  using kind = client::incoming::kind;

  ASSERT_EQ(::write(y.get(), (note + note).data(), 2 * note.size()),
            static_cast<ssize_t>(2 * note.size()));
  for (int i = 0; i < 2; ++i) { // the second one is in the buffer already
    auto in = client::receive_any(both, soon());
    EXPECT_EQ(in.index, 1u);
    ASSERT_TRUE(in.what && in.what->what == kind::message);
  }
  // Waiting writes what is queued.
  one.request(session_status_params{});
  EXPECT_EQ(client::receive_any(both, client::clock::now()).what->what, kind::too_late);
  char request[256];
  EXPECT_GT(::recv(x.get(), request, sizeof request, MSG_DONTWAIT), 0);

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  unique_fd in_end(ends[0]), out_end(ends[1]);
  ASSERT_EQ(::write(out_end.get(), "x", 1), 1);
  auto other = client::receive_any(both, soon(), {{-1, POLLIN, 0}, {in_end.get(), POLLIN, 0}});
  EXPECT_EQ(other.what->what, kind::woken);
  EXPECT_EQ(other.index, 3u);

  x.reset();
  auto lost = client::receive_any(both, soon());
  EXPECT_EQ(lost.index, 0u);
  EXPECT_FALSE(lost.what);
}

TEST(IpcClient, ReadsWhileItWritesSoThatNeitherSideWaitsForTheOther) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  std::size_t notes = 0;
  peer.on_other = [&](rpc_message&) { ++notes; };
  // The server writes 8 MiB before it reads anything.
  std::thread server([fd = b.get()] {
    const std::string note =
        R"({"jsonrpc":"2.0","method":"n","params":{"x":")" + std::string(1000, 'x') + "\"}}\n";
    for (int i = 0; i < 8000; ++i)
      for (std::size_t at = 0; at < note.size();) {
        const ssize_t n = ::write(fd, note.data() + at, note.size() - at);
        ASSERT_GT(n, 0);
        at += static_cast<std::size_t>(n);
      }
    std::string got;
    char chunk[65536];
    while (got.find('\n') == std::string::npos) {
      const ssize_t n = ::read(fd, chunk, sizeof chunk);
      ASSERT_GT(n, 0);
      got.append(chunk, static_cast<std::size_t>(n));
    }
    const std::string answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    ASSERT_GT(::write(fd, answer.data(), answer.size()), 0);
  });
  session_start_params start;
  start.task = std::string(8u << 20, 't');
  start.cwd = "/";
  auto got = peer.call(start, 20s);
  server.join();
  EXPECT_TRUE(got) << got.failed().text;
  EXPECT_EQ(notes, 8000u);
}

TEST(IpcClient, TellsLostLateAndWokenApart) {
  auto [a, b] = socket_pair();
  client peer(std::move(a));
  auto late = peer.receive(client::clock::now() + 20ms);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->what, client::incoming::kind::too_late);
  int wake[2];
  ASSERT_EQ(::pipe(wake), 0);
  ASSERT_EQ(::write(wake[1], "x", 1), 1);
  auto woken = peer.receive({}, wake[0]);
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->what, client::incoming::kind::woken);
  b.reset();
  auto lost = peer.receive();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.failed().code, failure::unreachable);
  ::close(wake[0]);
  ::close(wake[1]);
}

TEST(IpcClient, DoesNotTrustItsServer) {
  for (const char* line : {"garbage\n", "[]\n", "{\"jsonrpc\":\"2.0\"}\n"}) {
    auto [a, b] = socket_pair();
    client peer(std::move(a));
    ASSERT_GT(::write(b.get(), line, std::strlen(line)), 0);
    EXPECT_FALSE(peer.call(shutdown_params{}, 5s)) << line;
  }
}

} // namespace
} // namespace piorch::ipc
