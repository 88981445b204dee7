// The pipes of one command inside its broker: output read only as far as the
// channel's credit goes, input written as the command takes it. Main thread.
#pragma once

#include "config/result.hpp"
#include "ipc/channel.hpp"
#include "ipc/unique_fd.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace piorch::broker {

class streams {
public:
  streams(boost::asio::io_context& io, ipc::channel& to);

  // Makes the pipes; the command's ends, to be closed when it has been started.
  struct ends {
    ipc::unique_fd input, output, error_output;
  };
  result<ends> open(bool with_input);
  // `drained` is called once both output streams have ended and all was sent.
  void start(std::function<void()> drained);
  void credit(); // there is more of it
  bool drained() const noexcept { return !sources_[0].open && !sources_[1].open; }

  void input(std::string_view bytes);
  void input_end();
  // The command is gone and nobody waits for what did not fit: takes what is
  // there as far as credit goes, then calls it drained.
  void give_up();

private:
  struct source {
    boost::asio::posix::stream_descriptor fd;
    ipc::frame_type type;
    bool open = false;
    bool waiting = false;
  };
  void wait(source& s);
  void take(source& s);
  void close(source& s);
  void write_input();

  ipc::channel& channel_;
  std::array<source, 2> sources_;
  boost::asio::posix::stream_descriptor input_;
  std::string pending_; // input not yet taken
  bool input_open_ = false;
  bool input_ended_ = false;
  bool writing_ = false;
  std::function<void()> drained_;
};

} // namespace piorch::broker
