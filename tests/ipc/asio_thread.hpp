// An io_context on a thread of its own, and socket pairs, for tests of what lives
// on the Asio thread.
#pragma once

#include "ipc/unique_fd.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <future>
#include <sys/socket.h>
#include <thread>
#include <utility>

namespace piorch::ipc {

class asio_thread {
public:
  asio_thread() : work_(io.get_executor()) {
    std::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this] { io.run(); });
  }
  ~asio_thread() {
    io.stop();
    thread_.join();
  }
  // Runs `fn` there and waits for it.
  void run(const std::function<void()>& fn) {
    std::promise<void> done;
    boost::asio::post(io, [&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

  boost::asio::io_context io{1};

private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

inline std::pair<unique_fd, unique_fd> socket_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

} // namespace piorch::ipc
