// The socket at which workers of pi-subagents sign in, with real connections. One thread runs
// everything: Asio until what a test waits for has come.
#include "actors/worker_links.hpp"

#include "tests/support/actor_test.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/temp_dir.hpp"

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/un.h>

namespace piorch::actors {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct what_came {
  std::vector<worker_said> said;
  std::vector<std::uint64_t> closed;
};

worker_supervisor_handle::behavior_type listening(worker_supervisor_handle::pointer,
                                                  std::shared_ptr<what_came> came) {
  return {[came](const worker_said& s) { came->said.push_back(s); },
          [came](worker_link_closed c) { came->closed.push_back(c.link); }};
}

class ActorsWorkerLinks : public test::actor_test {
protected:
  void open(milliseconds silence = worker_links::silence_max) {
    auto made =
        worker_links::open(io, temp.path().string() + "/workers", "pi", capability, silence);
    ASSERT_TRUE(made) << made.failed().text;
    links = *made;
    supervisor = sys.spawn(listening, came);
    links->start(supervisor);
    io.poll();
  }
  ~ActorsWorkerLinks() override {
    if (links)
      links->close();
    io.poll();
    links = nullptr;
    supervisor = nullptr;
  }
  test::peer connect() {
    ipc::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    links->socket().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return test::peer(std::move(fd));
  }
  std::string frame(const std::string& id, const std::string& with) const {
    return json{{"version", 1},       {"capability", with}, {"id", id},
                {"type", "register"}, {"workerId", "w"},    {"cwd", "/project"}}
               .dump() +
           "\n";
  }
  // Lets the connections do what they can until it is so.
  template <class Condition> bool until(Condition so) {
    for (int n = 0; n < 2000 && !so(); ++n) {
      io.restart();
      io.run_one_for(milliseconds(10));
      run();
    }
    return so();
  }
  // What has arrived at a peer: a line, or "" when the connection has ended.
  std::optional<std::string> arrived(test::peer& p) {
    std::optional<std::string> out;
    until([&] {
      char block[4096];
      const ssize_t n = ::recv(p.fd(), block, sizeof block, MSG_DONTWAIT);
      if (n >= 0)
        out = std::string(block, static_cast<std::size_t>(n));
      return out.has_value();
    });
    return out;
  }

  test::temp_dir temp;
  const std::string capability = std::string(64, 'c');
  boost::asio::io_context io;
  std::shared_ptr<what_came> came = std::make_shared<what_came>();
  worker_supervisor_handle supervisor;
  std::shared_ptr<worker_links> links;
};

TEST_F(ActorsWorkerLinks, FramesReachTheSupervisorWithoutTheCapability) {
  open();
  struct stat st {};
  ASSERT_EQ(::stat((temp.path() / "workers").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  auto one = connect(), two = connect();
  ASSERT_TRUE(one.send(frame("1", capability) + frame("2", capability)));
  ASSERT_TRUE(until([&] { return came->said.size() == 2; }));
  ASSERT_TRUE(two.send(frame("3", capability)));
  ASSERT_TRUE(until([&] { return came->said.size() == 3; }));
  EXPECT_EQ(came->said[0].frame.id, "1");
  EXPECT_EQ(came->said[0].frame.capability, "");
  EXPECT_EQ(came->said[0].pid, ::getpid());
  EXPECT_EQ(came->said[0].link, came->said[1].link);
  EXPECT_NE(came->said[0].link, came->said[2].link);
  came->said[2].back.send("an answer");
  EXPECT_EQ(arrived(two), "an answer\n");
  came->said[0].back.shut();
  EXPECT_EQ(arrived(one), "");
}

TEST_F(ActorsWorkerLinks, AWrongCapabilityAndGarbageAreDeniedHereAndTheConnectionStays) {
  open();
  auto p = connect();
  for (const std::string& line : {frame("1", std::string(64, 'd')), frame("1", ""),
                                  std::string("garbage\n"), std::string("{}\n")}) {
    ASSERT_TRUE(p.send(line));
    const auto answer = arrived(p);
    ASSERT_TRUE(answer && !answer->empty()) << line;
    EXPECT_EQ(json::parse(*answer), json({{"action", "deny"}})) << line;
  }
  EXPECT_TRUE(came->said.empty());
  ASSERT_TRUE(p.send(frame("1", capability)));
  EXPECT_TRUE(until([&] { return came->said.size() == 1; }));
}

TEST_F(ActorsWorkerLinks, AFrameOfMoreThan16KiBEndsItsConnectionAndNoOther) {
  open();
  auto p = connect(), other = connect();
  ASSERT_TRUE(p.send(std::string(ipc::worker_frame_bytes + 2, 'x') + "\n"));
  const auto answer = arrived(p);
  ASSERT_TRUE(answer);
  EXPECT_EQ(json::parse(*answer)["action"], "deny");
  EXPECT_TRUE(until([&] { return came->closed.size() == 1; }));
  ASSERT_TRUE(other.send(frame("1", capability)));
  EXPECT_TRUE(until([&] { return came->said.size() == 1; }));
}

TEST_F(ActorsWorkerLinks, AConnectionThatEndsIsToldOnce) {
  open();
  auto p = connect();
  ASSERT_TRUE(p.send(frame("1", capability)));
  ASSERT_TRUE(until([&] { return came->said.size() == 1; }));
  p.close();
  ASSERT_TRUE(until([&] { return !came->closed.empty(); }));
  EXPECT_EQ(came->closed, std::vector<std::uint64_t>{came->said[0].link});
  came->said[0].back.send("nobody hears this\n");
  came->said[0].back.keep();
  came->said[0].back.shut();
  io.poll();
  run();
  EXPECT_EQ(came->closed.size(), 1u);
}

TEST_F(ActorsWorkerLinks, SilenceEndsAConnectionThatHasNoLease) {
  open(milliseconds(1));
  auto p = connect();
  EXPECT_EQ(arrived(p), "");
  EXPECT_TRUE(until([&] { return came->closed.size() == 1; }));
}

TEST_F(ActorsWorkerLinks, AKeptConnectionMayBeSilent) {
  // The timer is taken away with the lease: nothing is left that could end the connection.
  open();
  auto p = connect();
  ASSERT_TRUE(p.send(frame("1", capability)));
  ASSERT_TRUE(until([&] { return came->said.size() == 1; }));
  EXPECT_TRUE(links->is_timed(came->said[0].link));
  came->said[0].back.keep();
  EXPECT_TRUE(until([&] { return !links->is_timed(came->said[0].link); }));
  ASSERT_TRUE(p.send(frame("2", capability))); // a word does not start it again
  ASSERT_TRUE(until([&] { return came->said.size() == 2; }));
  EXPECT_FALSE(links->is_timed(came->said[0].link));
}

TEST_F(ActorsWorkerLinks, OneConnectionTooManyIsClosedWithoutAWord) {
  open();
  std::vector<test::peer> peers;
  for (std::size_t n = 0; n < worker_links::connections_max; ++n) {
    peers.push_back(connect());
    ASSERT_TRUE(peers.back().send(frame(std::to_string(n), capability)));
    ASSERT_TRUE(until([&] { return came->said.size() == n + 1; })) << n;
  }
  auto more = connect();
  EXPECT_EQ(arrived(more), "");
  peers.pop_back(); // and one that ends makes room
  ASSERT_TRUE(until([&] { return came->closed.size() == 1; }));
  auto again = connect();
  ASSERT_TRUE(again.send(frame("again", capability)));
  EXPECT_TRUE(until([&] { return came->said.size() == worker_links::connections_max + 1; }));
}

TEST_F(ActorsWorkerLinks, ClosedItHearsNobodyAndLeavesNoSocket) {
  open();
  auto p = connect();
  ASSERT_TRUE(p.send(frame("1", capability)));
  ASSERT_TRUE(until([&] { return came->said.size() == 1; }));
  const std::string socket = links->socket();
  links->close();
  EXPECT_EQ(arrived(p), "");
  EXPECT_NE(::access(socket.c_str(), F_OK), 0);
}

TEST_F(ActorsWorkerLinks, ADirectoryElsewhereIsRefused) {
  ASSERT_EQ(::mkdir((temp.path() / "elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("elsewhere", (temp.path() / "workers").c_str()), 0);
  EXPECT_FALSE(worker_links::open(io, temp.path().string() + "/workers", "pi", capability));
}

} // namespace
} // namespace piorch::actors
