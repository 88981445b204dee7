// The socket to the broker. Every send is one message; the broker reads until
// the end of file, so nothing here waits for an answer.
#pragma once

#include "sandbox/init_protocol.hpp"

namespace piorch::init {

namespace wire = sandbox::init;

class link {
public:
  explicit link(int fd) : fd_(fd) {}
  int fd() const { return fd_; }

  void send(const wire::header& h, const char* text = nullptr) const;
  // As send, but a message that finds the socket full is lost. Any thread.
  void offer(const wire::header& h, const char* text) const;
  void send_descriptors(const int* fds, unsigned count) const;
  // Tells the broker why nothing was started and ends the process.
  [[noreturn]] void fail(wire::stage where, int error, const char* what,
                         const char* object = "") const;
  // Is the next message that everything is to end, or is the broker gone?
  bool ends_already() const;
  // Reads one message; false at end of file. `fd` is -1 or a received descriptor.
  bool receive(wire::header& h, int& fd) const;

private:
  int fd_;
};

} // namespace piorch::init
