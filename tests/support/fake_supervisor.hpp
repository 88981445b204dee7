// A supervisor of version 1 of the workers' protocol, as others wrote it: plain sockets, one
// thread. Answers as a test tells it, and keeps what it was told.
#pragma once

#include "ipc/unique_fd.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace piorch::test {

class fake_supervisor {
public:
  using json = nlohmann::json;
  // The answer to a frame; null: none. Called on the supervisor's thread.
  using answer_fn = std::function<json(const json& frame)>;

  static json allow(const json& frame) {
    json out{{"id", frame["id"]}, {"action", "allow"}};
    if (frame["type"] == "register")
      out["network"] = {{"allowedDomains", json::array()}, {"deniedDomains", json::array()}};
    return out;
  }

  explicit fake_supervisor(std::string path, answer_fn answer = allow)
      : path_(std::move(path)), answer_(std::move(answer)), wake_(::eventfd(0, EFD_CLOEXEC)),
        listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 16) != 0)
      throw std::runtime_error("cannot listen at " + path_);
    thread_ = std::thread([this] { serve(); });
  }
  fake_supervisor(const fake_supervisor&) = delete;
  fake_supervisor& operator=(const fake_supervisor&) = delete;
  ~fake_supervisor() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }

  const std::string& path() const { return path_; }
  std::vector<json> frames() const {
    const std::lock_guard lock(mutex_);
    return frames_;
  }
  // The first frame of that type, waited for; null: none came in time.
  json frame(const std::string& type, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    json found;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] {
      for (const auto& f : frames_)
        if (f.value("type", "") == type) {
          found = f;
          return true;
        }
      return false;
    });
    return found;
  }
  // Whether every connection that was made has ended, waited for.
  bool all_closed(std::chrono::milliseconds limit = std::chrono::seconds(5)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return closed_ == opened_ && opened_ > 0; });
  }

private:
  struct connection {
    ipc::unique_fd fd;
    std::string buffer;
  };

  void serve() {
    std::vector<connection> open;
    for (;;) {
      std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const auto& c : open)
        fds.push_back({c.fd.get(), POLLIN, 0});
      if (::poll(fds.data(), fds.size(), -1) < 0)
        continue;
      if (fds[0].revents != 0)
        return;
      for (std::size_t i = open.size(); i-- > 0;)
        if (fds[i + 2].revents != 0 && !read(open[i])) {
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
          count(closed_);
        }
      if (fds[1].revents != 0) {
        open.push_back(
            {ipc::unique_fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), ""});
        count(opened_);
      }
    }
  }
  bool read(connection& c) {
    char block[4096];
    const ssize_t n = ::read(c.fd.get(), block, sizeof block);
    if (n <= 0)
      return false;
    c.buffer.append(block, static_cast<std::size_t>(n));
    for (std::size_t end; (end = c.buffer.find('\n')) != std::string::npos;) {
      const json frame = json::parse(c.buffer.substr(0, end), nullptr, false);
      c.buffer.erase(0, end + 1);
      {
        const std::lock_guard lock(mutex_);
        frames_.push_back(frame);
      }
      changed_.notify_all();
      const json reply = answer_(frame);
      if (reply.is_null())
        continue;
      const std::string line = reply.is_string() ? reply.get<std::string>() : reply.dump() + "\n";
      (void)!::send(c.fd.get(), line.data(), line.size(), MSG_NOSIGNAL);
    }
    return true;
  }
  void count(int& what) {
    {
      const std::lock_guard lock(mutex_);
      ++what;
    }
    changed_.notify_all();
  }

  std::string path_;
  answer_fn answer_;
  ipc::unique_fd wake_, listener_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<json> frames_;
  int opened_ = 0, closed_ = 0;
  std::thread thread_;
};

} // namespace piorch::test
