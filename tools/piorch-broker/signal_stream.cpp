#include "tools/piorch-broker/signal_stream.hpp"

#include <boost/asio/io_context.hpp>

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace piorch::broker {

void signal_stream::start(std::initializer_list<int> numbers, handler take) {
  take_ = std::move(take);
  sigset_t set;
  sigemptyset(&set);
  for (const int n : numbers)
    sigaddset(&set, n);
  descriptor_.assign(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  read();
}

void signal_stream::read() {
  descriptor_.async_wait(
      boost::asio::posix::descriptor_base::wait_read, [this](boost::system::error_code ec) {
        if (ec)
          return;
        signalfd_siginfo info;
        while (::read(descriptor_.native_handle(), &info, sizeof info) == sizeof info)
          take_(static_cast<int>(info.ssi_signo), info.ssi_code);
        read();
      });
}

} // namespace piorch::broker
