// Many followers of one session in one process: reads what they are sent, checks that
// every event comes once and in order, and tells how long it took. Used by session.mjs.
//   followers_bench SOCKET SESSION FOLLOWERS STALLED LAST
// FOLLOWERS read up to event number LAST; STALLED more follow and read nothing. Says
// "ready" when all follow; then one line of JSON.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    give_up("connect");
  return fd;
}

void put(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    give_up("write");
}

class follower {
public:
  follower(int fd, const std::string& session) : fd_(fd) {
    prefix_ = R"({"jsonrpc":"2.0","method":"session.event","params":{"sessionId":")" + session +
              R"(","seq":)";
    put(fd, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,)"
            R"("client":{"name":"bench","version":"1"},"capabilities":{}}})"
            "\n"
            R"({"jsonrpc":"2.0","id":2,"method":"session.follow","params":{"sessionId":")" +
                session + "\",\"from\":1}}\n");
  }
  int fd() const { return fd_; }
  bool follows() const { return follows_; }
  unsigned long last() const { return last_; }
  unsigned long gaps() const { return gaps_; }

  void read(std::vector<char>& buffer) {
    if (!rest_.empty())
      std::memcpy(buffer.data(), rest_.data(), rest_.size());
    const ssize_t n = ::read(fd_, buffer.data() + rest_.size(), buffer.size() - rest_.size());
    if (n <= 0)
      give_up("read");
    const std::string_view got(buffer.data(), rest_.size() + static_cast<std::size_t>(n));
    std::size_t at = 0;
    for (auto end = got.find('\n'); end != got.npos; end = got.find('\n', at)) {
      line(got.substr(at, end - at));
      at = end + 1;
    }
    rest_.assign(got.substr(at));
  }

private:
  void line(std::string_view text) {
    if (text.substr(0, prefix_.size()) != prefix_) {
      follows_ = follows_ || text.find("\"id\":2") != text.npos;
      return;
    }
    unsigned long seq = 0;
    for (std::size_t i = prefix_.size(); text[i] >= '0' && text[i] <= '9'; ++i)
      seq = seq * 10 + static_cast<unsigned long>(text[i] - '0');
    gaps_ += seq == last_ + 1 ? 0 : 1;
    last_ = seq;
  }

  int fd_;
  std::string prefix_;
  std::string rest_;
  bool follows_ = false;
  unsigned long last_ = 0;
  unsigned long gaps_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 6)
    return 2;
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  const auto readers = number(3), stalled = number(4), wanted = number(5);
  std::vector<follower> all;
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (unsigned long i = 0; i < readers + stalled; ++i) {
    all.emplace_back(connect_to(argv[1]), argv[2]);
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    if (i < readers)
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd(), &e);
  }
  std::vector<char> buffer(1u << 20);
  epoll_event ready[64];
  bool told = false;
  clock_type::time_point begun;
  unsigned long before = 0, complete = 0;
  while (complete < readers) {
    const int n = ::epoll_wait(epoll, ready, 64, -1);
    if (told && begun == clock_type::time_point())
      begun = clock_type::now(); // the first event of those that are measured
    for (int i = 0; i < n; ++i) {
      auto& f = all[ready[i].data.u64];
      const bool was = f.last() >= wanted;
      f.read(buffer);
      complete += !was && f.last() >= wanted ? 1 : 0;
    }
    unsigned long following = 0;
    for (unsigned long i = 0; !told && i < readers; ++i)
      following += all[i].follows() ? 1 : 0;
    if (!told && following == readers) {
      for (unsigned long i = 0; i < readers; ++i)
        before += all[i].last();
      told = true;
      std::puts("ready");
      std::fflush(stdout);
    }
  }
  const std::chrono::duration<double> took = clock_type::now() - begun;
  unsigned long events = 0, gaps = 0;
  for (unsigned long i = 0; i < readers; ++i) {
    events += all[i].last();
    gaps += all[i].gaps();
  }
  std::printf("{\"seconds\":%.4f,\"events\":%lu,\"gaps\":%lu}\n", took.count(), events - before,
              gaps);
  std::fflush(stdout);
  ::pause(); // still following: the orchestrator's memory is looked at now
}
