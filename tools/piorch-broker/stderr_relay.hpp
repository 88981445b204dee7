// Passes the stderr of a sandboxed command on to the caller's, and shows it to somebody on the
// way. Never more is read than has been written. Main thread only.
#pragma once

#include "ipc/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace piorch::broker {

class stderr_relay {
public:
  // `from`: a pipe, or the master of a pseudo-terminal, which gets the size of `to`. `to` does
  // not block, or is a file, which never does.
  stderr_relay(boost::asio::io_context& io, ipc::unique_fd from, ipc::unique_fd to,
               std::function<void(std::string_view)> seen);

  // Nothing is written meanwhile: a question is on the terminal.
  void hold(bool on);
  // The command and everything it started are gone: `done` when all it said is passed on.
  void finish(std::function<void()> done);
  void give_up(); // nobody waits for the rest

private:
  void read();
  void write();
  void next();

  boost::asio::posix::stream_descriptor from_, to_;
  ipc::unique_fd file_; // instead of to_
  std::function<void(std::string_view)> seen_;
  std::function<void()> done_;
  char buffer_[16384];
  std::string pending_;
  bool reading_ = false, writing_ = false, held_ = false, ended_ = false;
};

} // namespace piorch::broker
