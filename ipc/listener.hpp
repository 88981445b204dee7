// The socket of one orchestrator: takes its lock, sweeps what others left,
// listens, and hands out connections of our own user only.
//
// open() before threads exist (it may wait for a lock); the rest on the Asio
// thread.
#pragma once

#include "config/result.hpp"
#include "ipc/instance.hpp"
#include "ipc/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace piorch::ipc {

class listener {
public:
  // `name`: "default", or a private name of which a free variation is taken.
  // failure::unreachable: another default instance serves already.
  static result<std::unique_ptr<listener>> open(boost::asio::io_context& io,
                                                instance_directory& dir, const std::string& name);
  ~listener();

  const std::string& name() const noexcept { return name_; }
  void start(std::function<void(unique_fd)> on_connection);
  // No new connection from here on; the name is free for the next instance. What
  // had already connected is still handed out, so that nobody is left hanging.
  void close();

private:
  listener(boost::asio::io_context& io, instance_directory& dir, std::string name, lock_file lock);
  result<done> bind();
  void accept();
  void accept_later();
  void take(int fd);

  instance_directory& dir_;
  std::string name_;
  std::optional<lock_file> lock_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  std::function<void(unique_fd)> on_connection_;
};

} // namespace piorch::ipc
