// One broker process as the orchestrator's Asio thread sees it: its channel, its
// pidfd, the bytes that wait for its standard input. Started from the Asio thread,
// which lives as long as the process does.
#pragma once

#include "actors/remote_broker.hpp"
#include "ipc/channel.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <sys/types.h>

namespace piorch::actors {

class broker_process : public std::enable_shared_from_this<broker_process> {
public:
  broker_process(boost::asio::io_context& io, remote_broker_handle owner);
  ~broker_process();

  // Runs `program` (absolute, "piorch-broker") and gives it the job.
  void start(const std::string& program, const std::string& job);
  void send(ipc::frame_type what, const std::string& payload);
  void input(const std::string& bytes); // passed on as the broker allows
  void close_input();
  void grant(std::size_t bytes);
  void kill();
  // Nobody wants it any more: its channel ends, and with that its tree.
  void hang_up();

  // Its pid for whoever wants to show it, 0 while there is none; any thread reads it.
  std::shared_ptr<const std::atomic<std::int64_t>> shown_pid() const { return shown_pid_; }

private:
  result<pid_t> spawn(const std::string& program, ipc::unique_fd theirs);
  void wait_for_end();
  void pump_input();
  void one_end(const std::string& why);

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor handle_; // pidfd
  std::shared_ptr<ipc::channel> channel_;
  remote_broker_handle owner_;
  pid_t pid_ = -1;
  std::shared_ptr<std::atomic<std::int64_t>> shown_pid_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  std::string input_;
  std::size_t input_sent_ = 0;
  bool input_closed_ = false;
  bool input_end_sent_ = false;
  bool channel_ended_ = false;
  std::string why_;
};

// What actors get: starts brokers on `io`, whose thread runs until all of them
// have ended.
broker_starter start_brokers_on(boost::asio::io_context& io, std::string program);

} // namespace piorch::actors
