// The socket at which the workers of one Pi session sign in, and its connections: lines become
// frames, what is none is answered here, without an actor. Ends when it is closed.
//
// open() and close() from any thread; everything else happens on the Asio thread.
#pragma once

#include "actors/interfaces.hpp"
#include "ipc/listener.hpp"
#include "ipc/stream_session.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

namespace piorch::actors {

class worker_links : public std::enable_shared_from_this<worker_links> {
public:
  static constexpr std::size_t connections_max = 128;
  static constexpr std::chrono::seconds silence_max{30}; // of a connection without a lease

  // Listens already when it returns; takes nothing before start().
  static result<std::shared_ptr<worker_links>>
  open(boost::asio::io_context& io, const std::string& directory, const std::string& name,
       std::string capability, std::chrono::milliseconds silence = silence_max);

  std::string socket() const { return directory_.path() + "/" + listener_->name() + ".sock"; }
  void start(worker_supervisor_handle to);
  void close();
  // Whether silence would end this connection. Asio thread.
  bool is_timed(std::uint64_t number) const;

private:
  struct link {
    std::shared_ptr<ipc::stream_session> session;
    std::unique_ptr<boost::asio::steady_timer> silence; // none: it may be silent
    pid_t pid = 0;
  };
  worker_links(boost::asio::io_context& io, ipc::instance_directory directory,
               std::string capability, std::chrono::milliseconds silence);
  void greet(ipc::unique_fd fd);
  void take(std::uint64_t number, const ipc::line_buffer::line& line);
  void wait_for_a_word(std::uint64_t number);
  void keep(std::uint64_t number);
  void lost(std::uint64_t number);

  boost::asio::io_context& io_;
  ipc::instance_directory directory_;
  std::unique_ptr<ipc::listener> listener_;
  std::string capability_;
  const std::chrono::milliseconds silence_;
  worker_supervisor_handle supervisor_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, link> links_;
};

} // namespace piorch::actors
