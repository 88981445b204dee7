// What the HTTP and the SOCKS connection have in common: a client socket whose
// bytes are collected without a buffer of its own, a passage that may take as
// long as a person thinks, notice of a client that leaves meanwhile, and a
// tunnel at the end. Asio thread only. Internal to sandbox/network.
#pragma once

#include "sandbox/network/passage.hpp"

namespace piorch::sandbox::network {

class proxy_client : public connection, public std::enable_shared_from_this<proxy_client> {
public:
  using socket = boost::asio::ip::tcp::socket;

  proxy_client(std::shared_ptr<core> shared, socket client);
  virtual void start() = 0;
  void abort() override;

protected:
  // Waits for bytes and appends them to in_; then on_bytes(), or on_client_end()
  // when the client sent FIN or is gone (`reset`). One wait at a time.
  void read_more(std::size_t most_bytes);
  virtual void on_bytes() = 0;
  virtual void on_client_end(bool reset) = 0;

  // Opens a passage and keeps an eye on the client until it has opened. Whoever sent all it
  // had to say and then FIN may still want the answer; but nobody is asked for somebody who
  // has probably left.
  void open(const destination& to, std::string protocol);
  virtual void on_open(passage::outcome outcome) = 0;

  // The client has `limit` to get on, or it is dropped; again as long as `moved` says that
  // something came about meanwhile.
  void expect_progress_within(std::chrono::steady_clock::duration limit,
                              std::function<bool()> moved = {});
  void stop_clock() { clock_.cancel(); }

  // Hands client, server and what was read early to a relay; this object is
  // done. `greeting` goes to the client first.
  void tunnel(socket server, std::string greeting);

  // Sends `bytes`, FIN, waits for the client's FIN (bounded): closing with
  // unread bytes would send RST, and the answer would be lost with it.
  void answer_and_close(std::string bytes);
  void send(std::string bytes, std::function<void()> then);

  bool is_opening() const { return static_cast<bool>(passage_); }
  bool is_asking() const { return passage_ && passage_->is_asking(); }
  void stop_reading();

  socket client_;
  std::string in_; // read, not yet understood
  bool dead_ = false;

private:
  void take(std::size_t most_bytes);
  void drain(std::size_t left);

  boost::asio::steady_timer clock_;
  std::shared_ptr<passage> passage_;
  std::uint64_t read_epoch_ = 0;
  bool reading_ = false;
  bool fresh_ = true; // nothing was tried to be read yet
};

// Two connected sockets as one connection of the gateway.
void start_tunnel(std::shared_ptr<core> shared, boost::asio::ip::tcp::socket client,
                  boost::asio::ip::tcp::socket server, std::string to_server,
                  std::string to_client);

std::shared_ptr<proxy_client> make_http_connection(std::shared_ptr<core>,
                                                   boost::asio::ip::tcp::socket);
std::shared_ptr<proxy_client> make_socks_connection(std::shared_ptr<core>,
                                                    boost::asio::ip::tcp::socket);

} // namespace piorch::sandbox::network
