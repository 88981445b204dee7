// The way of one connection through the wall: judge, ask, resolve, filter the
// addresses, dial one of those that were checked. Asio thread only. Internal to
// sandbox/network.
#pragma once

#include "sandbox/network/core.hpp"
#include "sandbox/network/socks_message.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace piorch::sandbox::network {

// Why there is no connection, in the words of each protocol.
struct refusal {
  int http_status = 403;
  socks::reply socks_code = socks::reply::not_allowed;
  std::string text; // for a person or a model; ends with a line feed
};

// A spelling that is no public host name, told and reported.
refusal refuse_name(core& shared, std::string_view spelled, std::uint16_t port, const error& why);

class dialer;

class passage : public std::enable_shared_from_this<passage> {
public:
  using outcome = std::variant<boost::asio::ip::tcp::socket, refusal>;
  using handler = std::function<void(outcome)>;

  passage(std::shared_ptr<core> shared, destination to, std::string protocol, handler done);

  // `done` is called once, never from within start() or cancel().
  void start();
  // The client is gone: no call-back, the question is withdrawn.
  void cancel();
  // Somebody is thinking about it just now.
  bool is_asking() const { return asked_ != 0; }

private:
  void judge();
  void ask();
  void on_answer(ask_answer answer);
  void resolve();
  void on_addresses(result<resolver::addresses> found);
  void dial(std::vector<boost::asio::ip::address> addresses);
  void deny(std::string source, const std::string& reason, const std::string& remedy);
  void fail(int status, socks::reply code, std::string what);
  void finish(outcome o);

  std::shared_ptr<core> shared_;
  destination to_;
  std::string protocol_;
  handler done_;
  std::uint64_t asked_ = 0; // id of the open question
  bool by_static_rule_ = false;
  std::string source_;
  resolver::ticket looking_up_;
  std::shared_ptr<dialer> dialling_;
};

} // namespace piorch::sandbox::network
