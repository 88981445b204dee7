#include "actors/worker_links.hpp"

#include <boost/asio/post.hpp>
#include <sys/socket.h>

namespace piorch::actors {

namespace asio = boost::asio;
using ipc::line_buffer;

namespace {

pid_t pid_of_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

} // namespace

result<std::shared_ptr<worker_links>>
worker_links::open(asio::io_context& io, const std::string& directory, const std::string& name,
                   std::string capability, std::chrono::milliseconds silence) {
  auto place = ipc::instance_directory::open(directory);
  if (!place)
    return std::move(place).failed();
  std::shared_ptr<worker_links> self(
      new worker_links(io, std::move(*place), std::move(capability), silence));
  auto listening = ipc::listener::open(io, self->directory_, name);
  if (!listening)
    return std::move(listening).failed();
  self->listener_ = std::move(*listening);
  return self;
}

worker_links::worker_links(asio::io_context& io, ipc::instance_directory directory,
                           std::string capability, std::chrono::milliseconds silence)
    : io_(io), directory_(std::move(directory)), capability_(std::move(capability)),
      silence_(silence) {}

void worker_links::start(worker_supervisor_handle to) {
  asio::post(io_, [self = shared_from_this(), to = std::move(to)] {
    if (!self->listener_)
      return; // closed meanwhile
    self->supervisor_ = to;
    self->listener_->start([weak = self->weak_from_this()](ipc::unique_fd fd) {
      if (const auto links = weak.lock())
        links->greet(std::move(fd));
    });
  });
}

void worker_links::close() {
  asio::post(io_, [self = shared_from_this()] {
    self->supervisor_ = nullptr;
    self->listener_.reset();
    const auto links = std::move(self->links_);
    self->links_.clear();
    for (const auto& [number, one] : links)
      one.session->shut(std::chrono::milliseconds(200));
  });
}

void worker_links::greet(ipc::unique_fd fd) {
  if (links_.size() >= connections_max || !supervisor_)
    return; // closed without a word: whoever has no lease yet tries again or gives up
  const auto number = ++last_;
  link one;
  one.pid = pid_of_peer(fd.get());
  one.session = ipc::stream_session::make(io_, std::move(fd), {}, ipc::worker_frame_bytes);
  one.silence = std::make_unique<asio::steady_timer>(io_);
  const auto session = one.session;
  links_.emplace(number, std::move(one));
  wait_for_a_word(number);
  const std::weak_ptr<worker_links> weak = weak_from_this();
  session->start({[weak, number](line_buffer::line line) {
                    if (const auto links = weak.lock())
                      links->take(number, line);
                  },
                  {},
                  [weak, number](const std::string&) {
                    if (const auto links = weak.lock())
                      links->lost(number);
                  }});
}

void worker_links::take(std::uint64_t number, const line_buffer::line& line) {
  const auto at = links_.find(number);
  if (at == links_.end())
    return;
  const std::weak_ptr<ipc::stream_session> way_back = at->second.session;
  if (line.what != line_buffer::kind::complete) {
    at->second.session->send(ipc::write_answer("", false, "", "a frame is longer than 16 KiB"));
    return at->second.session->shut();
  }
  auto frame = ipc::read_worker_frame(line.text);
  if (!frame || !ipc::is_same_capability(frame->capability, capability_))
    return at->second.session->send(ipc::write_answer("", false, "", ""));
  wait_for_a_word(number);
  frame->capability.clear();
  worker_link_port back;
  back.send = [way_back](std::string text) {
    if (const auto session = way_back.lock())
      session->send(std::move(text));
  };
  back.shut = [way_back] {
    if (const auto session = way_back.lock())
      session->shut();
  };
  back.keep = [weak = weak_from_this(), number] {
    if (const auto links = weak.lock())
      asio::post(links->io_, [links, number] { links->keep(number); });
  };
  tell(supervisor_, worker_said{number, at->second.pid, std::move(*frame), std::move(back)});
}

void worker_links::wait_for_a_word(std::uint64_t number) {
  const auto at = links_.find(number);
  if (at == links_.end() || !at->second.silence)
    return;
  at->second.silence->expires_after(silence_);
  at->second.silence->async_wait([weak = std::weak_ptr<ipc::stream_session>(at->second.session)](
                                     boost::system::error_code ec) {
    if (const auto session = weak.lock(); session && !ec)
      session->shut();
  });
}

void worker_links::keep(std::uint64_t number) {
  if (const auto at = links_.find(number); at != links_.end())
    at->second.silence.reset();
}

bool worker_links::is_timed(std::uint64_t number) const {
  const auto at = links_.find(number);
  return at != links_.end() && at->second.silence != nullptr;
}

void worker_links::lost(std::uint64_t number) {
  if (const auto node = links_.extract(number); !node.empty())
    node.mapped().session->shut();
  if (supervisor_)
    tell(supervisor_, worker_link_closed{number});
}

} // namespace piorch::actors
