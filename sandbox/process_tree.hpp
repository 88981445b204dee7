// A sandbox's processes: owns bubblewrap's pid, piorch-init's pidfd and the
// channel to it. Tells its owner what happens; ends everything when destroyed.
// Asio thread only; handlers are called there too.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/init_protocol.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace piorch::sandbox {

class process_tree : public std::enable_shared_from_this<process_tree> {
public:
  struct events {
    // One message of piorch-init, with its text and the descriptors that came along.
    std::function<void(const init::header&, std::string text, std::vector<ipc::unique_fd>)> message;
    // Every process is gone; the last thing that is called.
    std::function<void()> gone;
  };

  process_tree(boost::asio::io_context& io, pid_t bwrap, ipc::unique_fd channel);
  ~process_tree();

  void start(events to);
  void send(init::message what, std::uint32_t a = 0);
  void kill();
  pid_t init_pid() const { return init_pid_; } // 0: not known yet

private:
  void read();
  void wait_bwrap();
  void wait_init();
  void take(const init::header& h, std::string text, std::vector<ipc::unique_fd> fds, pid_t sender);
  void one_gone();

  boost::asio::posix::stream_descriptor channel_;
  boost::asio::posix::stream_descriptor bwrap_handle_;
  boost::asio::posix::stream_descriptor init_handle_;
  pid_t bwrap_;
  pid_t init_pid_ = 0;
  bool killed_ = false;
  int waiting_ = 2; // bubblewrap and the channel; piorch-init too once it is known
  events to_;
};

} // namespace piorch::sandbox
