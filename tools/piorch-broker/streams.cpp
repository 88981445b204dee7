#include "tools/piorch-broker/streams.hpp"

#include "config/limits.hpp"
#include "ipc/system_error.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace piorch::broker {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;

namespace {

struct pipe_ends {
  ipc::unique_fd read, write;
};
result<pipe_ends> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return ipc::fault("cannot make a pipe");
  return pipe_ends{ipc::unique_fd(fds[0]), ipc::unique_fd(fds[1])};
}

} // namespace

streams::streams(asio::io_context& io, ipc::channel& to)
    : channel_(to), sources_{source{stream_descriptor(io), ipc::frame_type::output},
                             source{stream_descriptor(io), ipc::frame_type::error_output}},
      input_(io) {}

result<streams::ends> streams::open(bool with_input) {
  ends out;
  ipc::unique_fd* theirs[] = {&out.output, &out.error_output};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    auto pipe = make_pipe();
    if (!pipe)
      return std::move(pipe).failed();
    ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
    sources_[i].fd.assign(pipe->read.release());
    sources_[i].open = true;
    *theirs[i] = std::move(pipe->write);
  }
  if (with_input) {
    auto pipe = make_pipe();
    if (!pipe)
      return std::move(pipe).failed();
    ::fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK);
    input_.assign(pipe->write.release());
    input_open_ = true;
    out.input = std::move(pipe->read);
  }
  return out;
}

void streams::start(std::function<void()> drained) {
  drained_ = std::move(drained);
  credit();
}

void streams::credit() {
  for (auto& s : sources_)
    wait(s);
}

void streams::wait(source& s) {
  if (!s.open || s.waiting || channel_.credit() == 0)
    return;
  s.waiting = true;
  s.fd.async_wait(asio::posix::descriptor_base::wait_read,
                  [this, &s](boost::system::error_code ec) {
                    s.waiting = false;
                    if (ec || !s.open)
                      return;
                    take(s);
                    wait(s);
                  });
}

// Reads once; credit is looked at now, since the other stream spends it too.
void streams::take(source& s) {
  const std::size_t most = std::min(channel_.credit(), limits::channel_chunk_bytes);
  if (most == 0)
    return;
  char bytes[limits::channel_chunk_bytes];
  const ssize_t n = ::read(s.fd.native_handle(), bytes, most);
  if (n > 0)
    channel_.stream(s.type, {bytes, static_cast<std::size_t>(n)});
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    close(s);
}

void streams::close(source& s) {
  s.open = false;
  boost::system::error_code ignored;
  s.fd.close(ignored);
  if (sources_[0].open || sources_[1].open)
    return;
  channel_.send(ipc::frame_type::output_end);
  if (const auto drained = std::move(drained_))
    drained();
}

void streams::give_up() {
  for (auto& s : sources_) {
    std::size_t before = 0;
    do {
      before = channel_.credit();
      if (s.open)
        take(s);
    } while (s.open && channel_.credit() < before);
    if (s.open)
      close(s);
  }
}

void streams::input(std::string_view bytes) {
  if (!input_open_ || input_ended_) {
    channel_.grant(bytes.size()); // nobody takes it; the sender must not wait for ever
    return;
  }
  pending_ += bytes; // bounded by the credit we gave
  write_input();
}

void streams::input_end() {
  input_ended_ = true;
  write_input();
}

void streams::write_input() {
  if (!input_open_ || writing_)
    return;
  if (pending_.empty()) {
    if (input_ended_) {
      input_open_ = false;
      boost::system::error_code ignored;
      input_.close(ignored);
    }
    return;
  }
  writing_ = true;
  input_.async_write_some(asio::buffer(pending_),
                          [this](boost::system::error_code ec, std::size_t n) {
                            writing_ = false;
                            if (ec) { // the command has closed it: what follows is dropped
                              input_open_ = false;
                              n = pending_.size();
                              boost::system::error_code ignored;
                              input_.close(ignored);
                            }
                            pending_.erase(0, n);
                            channel_.grant(n);
                            write_input();
                          });
}

} // namespace piorch::broker
