// The signals that are sent to a broker, read from a descriptor. They are blocked in every
// thread of it. Asio thread only.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <initializer_list>

namespace piorch::broker {

class signal_stream {
public:
  // `code` tells the kernel's own (SI_KERNEL: the terminal's) from those of processes.
  using handler = std::function<void(int number, int code)>;

  explicit signal_stream(boost::asio::io_context& io) : descriptor_(io) {}
  // Calls `take` for each of these signals as long as the stream lives. Once.
  void start(std::initializer_list<int> numbers, handler take);

private:
  void read();

  boost::asio::posix::stream_descriptor descriptor_;
  handler take_;
};

} // namespace piorch::broker
