#include "actors/broker_process.hpp"

#include "config/limits.hpp"
#include "sandbox/remote_job.hpp"
#include "sandbox/spawn.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace piorch::actors {

namespace asio = boost::asio;
using ipc::frame_type;

broker_process::broker_process(asio::io_context& io, remote_broker_handle owner)
    : io_(io), handle_(io), owner_(std::move(owner)) {}

broker_process::~broker_process() { // the loop was stopped before the process had ended
  if (pid_ > 0)
    kill();
}

result<pid_t> broker_process::spawn(const std::string& program, ipc::unique_fd theirs) {
  sandbox::spawn_request request;
  request.program = program;
  request.arguments = {"piorch-broker", "serve", "3"};
  for (char** v = environ; *v != nullptr; ++v)
    request.environment.emplace_back(*v);
  request.fds = {-1, -1, STDERR_FILENO, theirs.get()};
  request.new_session = true; // a Ctrl-C at our terminal is not for it
  sigemptyset(&request.blocked);
  return sandbox::spawn(request);
}

void broker_process::start(const std::string& program, const std::string& job) {
  channel_ended_ = true; // until there is one
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return one_end(std::string("cannot make a socket pair: ") + std::strerror(errno));
  ipc::unique_fd ours(ends[0]), theirs(ends[1]);
  auto pid = spawn(program, std::move(theirs));
  if (!pid)
    return one_end(pid.failed().text);
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (handle < 0) {
    const std::string problem = std::string("cannot watch it: ") + std::strerror(errno);
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return one_end(problem);
  }
  pid_ = *pid;
  shown_pid_->store(pid_);
  handle_.assign(handle);
  wait_for_end();
  channel_ended_ = false;
  channel_ = ipc::channel::make(io_, std::move(ours));
  channel_->start({[self = shared_from_this()](ipc::frame f) {
                     tell(self->owner_, broker_frame{f.type, std::string(f.payload)});
                   },
                   [self = shared_from_this()] { self->pump_input(); },
                   [self = shared_from_this()](const std::string& why) {
                     self->channel_ended_ = true;
                     // A broker that talks nonsense, or whose line is cut, is not waited for.
                     if (!why.empty())
                       self->kill();
                     self->one_end(why);
                   }});
  channel_->send(frame_type::job, job);
}

void broker_process::wait_for_end() {
  handle_.async_wait(asio::posix::descriptor_base::wait_read, [self = shared_from_this()](
                                                                  boost::system::error_code ec) {
    if (ec)
      return;
    int status = 0;
    ::waitpid(self->pid_, &status, 0);
    self->pid_ = -1;
    self->shown_pid_->store(0);
    self->handle_.close();
    self->one_end(WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                                      : std::string());
  });
}

void broker_process::send(frame_type what, const std::string& payload) {
  if (channel_)
    channel_->send(what, payload);
}

void broker_process::input(const std::string& bytes) {
  if (channel_ended_ || input_closed_)
    return;
  input_ += bytes;
  pump_input();
}

void broker_process::close_input() {
  input_closed_ = true;
  pump_input();
}

void broker_process::pump_input() {
  if (!channel_ || channel_ended_)
    return;
  while (input_sent_ < input_.size() && channel_->credit() > 0) {
    const std::size_t n =
        std::min({input_.size() - input_sent_, channel_->credit(), limits::channel_chunk_bytes});
    channel_->stream(frame_type::input, std::string_view(input_).substr(input_sent_, n));
    input_sent_ += n;
  }
  if (input_sent_ < input_.size())
    return;
  input_ = {};
  input_sent_ = 0;
  if (input_closed_ && !std::exchange(input_end_sent_, true))
    channel_->send(frame_type::input_end);
}

void broker_process::grant(std::size_t bytes) {
  if (channel_)
    channel_->grant(bytes);
}

void broker_process::kill() {
  if (pid_ > 0)
    ::kill(pid_, SIGKILL); // not reaped yet, so the number is still its own
}

void broker_process::hang_up() {
  if (channel_ && !channel_ended_)
    channel_->shut();
}

// The channel and the process both have to end: output that is still on its way
// comes first, and nobody is told "gone" while the process may still clean up.
void broker_process::one_end(const std::string& why) {
  if (!why.empty() && why_.empty())
    why_ = why;
  if (!channel_ended_ || pid_ > 0 || !owner_)
    return;
  tell(owner_, broker_gone{why_});
  owner_ = nullptr;
  channel_.reset();
}

broker_starter start_brokers_on(asio::io_context& io, std::string program) {
  return [&io, program = std::move(program)](remote_broker_handle owner, std::string job) {
    const auto process = std::make_shared<broker_process>(io, std::move(owner));
    const auto later = [&io, process](auto method) {
      return [&io, process, method](auto... xs) {
        asio::post(io, [process, method, xs...] { ((*process).*method)(xs...); });
      };
    };
    asio::post(io, [process, program, job = std::move(job)] { process->start(program, job); });
    broker_line line;
    line.send = later(&broker_process::send);
    line.input = later(&broker_process::input);
    line.close_input = later(&broker_process::close_input);
    line.grant = later(&broker_process::grant);
    line.kill = later(&broker_process::kill);
    line.hang_up = later(&broker_process::hang_up);
    line.pid = [pid = process->shown_pid()] { return pid->load(); };
    return line;
  };
}

} // namespace piorch::actors
