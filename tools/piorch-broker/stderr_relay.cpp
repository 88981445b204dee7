#include "tools/piorch-broker/stderr_relay.hpp"

#include <boost/asio/post.hpp>
#include <cerrno>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace piorch::broker {

namespace asio = boost::asio;

namespace {

bool is_file(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// The kernel tells only the terminal's own foreground of a new size.
void copy_size(int from, int to) {
  winsize is{}, was{};
  if (::ioctl(from, TIOCGWINSZ, &is) == 0 && ::ioctl(to, TIOCGWINSZ, &was) == 0 &&
      (is.ws_row != was.ws_row || is.ws_col != was.ws_col))
    ::ioctl(to, TIOCSWINSZ, &is);
}

} // namespace

stderr_relay::stderr_relay(asio::io_context& io, ipc::unique_fd from, ipc::unique_fd to,
                           std::function<void(std::string_view)> seen)
    : from_(io, from.release()), to_(io), seen_(std::move(seen)) {
  if (is_file(to.get()))
    file_ = std::move(to);
  else
    to_.assign(to.release());
  read();
}

void stderr_relay::read() {
  if (std::exchange(reading_, true))
    return;
  from_.async_wait(asio::posix::descriptor_base::wait_read, [this](boost::system::error_code) {
    reading_ = false;
    next();
  });
}

// One step at a time: what has been read is written before more is read.
void stderr_relay::next() {
  if (held_ || writing_ || reading_)
    return;
  if (!pending_.empty())
    return write();
  if (!ended_) {
    if (!file_)
      copy_size(to_.native_handle(), from_.native_handle());
    const ssize_t n = ::read(from_.native_handle(), buffer_, sizeof buffer_);
    if (n > 0) {
      pending_.assign(buffer_, static_cast<std::size_t>(n));
      seen_(pending_);
      return write();
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && !done_)
      return read();
    ended_ = true; // the end, or EIO: nobody has the other end of the terminal any more
  }
  if (done_)
    std::exchange(done_, nullptr)();
}

void stderr_relay::write() {
  const int fd = file_ ? file_.get() : to_.native_handle();
  const ssize_t n = ::write(fd, pending_.data(), pending_.size());
  if (n >= 0)
    pending_.erase(0, static_cast<std::size_t>(n));
  else if (errno != EAGAIN && errno != EINTR)
    pending_.clear(); // nobody reads it; the command is not told
  if (pending_.empty() || file_)
    return asio::post(from_.get_executor(), [this] { next(); });
  writing_ = true;
  to_.async_wait(asio::posix::descriptor_base::wait_write, [this](boost::system::error_code) {
    writing_ = false;
    next();
  });
}

void stderr_relay::hold(bool on) {
  held_ = on;
  if (!on)
    next();
}

void stderr_relay::finish(std::function<void()> done) {
  done_ = std::move(done);
  if (std::exchange(reading_, false)) {
    boost::system::error_code ignored;
    from_.cancel(ignored);
  }
  next();
}

void stderr_relay::give_up() {
  pending_.clear();
  ended_ = true;
  writing_ = held_ = false;
  next();
}

} // namespace piorch::broker
