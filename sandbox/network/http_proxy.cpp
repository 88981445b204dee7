// One HTTP proxy connection: CONNECT becomes a tunnel, http:// requests are
// judged and passed on one by one, everything else is told what is wrong.
#include "config/network_limits.hpp"
#include "sandbox/network/http_exchange.hpp"
#include "sandbox/network/http_head.hpp"
#include "sandbox/network/proxy_client.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>

namespace piorch::sandbox::network {
namespace {

std::string phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403: // several clients show nothing but this line when CONNECT is refused
      return "Forbidden by the sandbox's network policy (piorch), do not retry";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Gateway";
  }
}

std::string answer(int status, const std::string& text) {
  return "HTTP/1.1 " + std::to_string(status) + ' ' + phrase(status) +
         "\r\nServer: piorch\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(text.size()) + "\r\nConnection: close\r\nProxy-Connection: close\r\n" +
         "X-Piorch-Refused: " + (status == 403 ? "policy" : "error") + "\r\n\r\n" + text;
}

class http_connection : public proxy_client {
public:
  using proxy_client::proxy_client;

  void start() override {
    expect_progress_within(shared_->times.http_head);
    read_head();
  }

  void abort() override {
    if (auto e = std::move(exchange_)) {
      exchange_ = nullptr;
      e->cancel();
    }
    proxy_client::abort();
  }

private:
  enum class phase { head, opening, exchange };

  std::shared_ptr<http_connection> self() {
    return std::static_pointer_cast<http_connection>(shared_from_this());
  }

  void read_head() {
    phase_ = phase::head;
    const auto scan = find_head_end(in_);
    if (scan.problem)
      return refuse(*scan.problem);
    if (scan.end == 0)
      return read_more(limits::http_head_bytes - in_.size());
    if (auto problem = parse_request(std::string_view(in_).substr(0, scan.end), request_))
      return refuse(*problem);
    in_.erase(0, scan.end);
    on_request();
  }

  void on_request() {
    stop_clock(); // from here on it may take as long as somebody thinks
    const bool connect = request_.form == http_request::form_type::connect;
    auto to = parse_authority(request_.authority, connect ? 0 : 80);
    if (!to) {
      const auto [host, port] = spelled_parts(request_.authority, connect ? 0 : 80);
      return send_refusal(refuse_name(*shared_, host, port, to.failed()));
    }
    to_ = std::move(*to);
    phase_ = phase::opening;
    open(to_, connect ? "CONNECT" : "HTTP");
  }

  void on_bytes() override {
    switch (phase_) {
      case phase::head:
        if (idle_) { // the next request of a kept connection has begun
          idle_ = false;
          expect_progress_within(shared_->times.http_head);
        }
        return read_head();
      case phase::opening:
      case phase::exchange: // early data, or the next request in a pipeline: not looked at yet
        if (in_.size() < limits::early_data_bytes)
          read_more(limits::early_data_bytes - in_.size());
        return;
    }
  }

  void on_client_end(bool reset) override {
    if (reset)
      return abort();
    switch (phase_) {
      case phase::head: // between two requests it is the usual good-bye
        return in_.empty() ? answer_and_close({}) : abort();
      case phase::opening:
        if (is_asking())
          return abort();
        client_ended_ = true; // a relay sees the FIN again
        return;
      case phase::exchange:
        return bound_half_closed();
    }
  }

  // A client that was killed looks like one that half-closed.
  void bound_half_closed() {
    if (!std::exchange(probed_, true))
      probe_half_closed(client_, [c = self()] {
        if (!c->dead_)
          c->abort();
      });
    expect_progress_within(shared_->times.half_closed,
                           [this] { return exchange_ && exchange_->moved(); });
  }

  void on_open(passage::outcome outcome) override {
    if (auto* refused = std::get_if<refusal>(&outcome))
      return send_refusal(*refused);
    auto& server = std::get<socket>(outcome);
    if (request_.form == http_request::form_type::connect)
      return tunnel(std::move(server), "HTTP/1.1 200 Connection established\r\n\r\n");
    phase_ = phase::exchange;
    if (client_ended_)
      bound_half_closed();
    exchange_ = make_http_exchange(
        shared_from_this(), client_, std::move(server), request_, to_, std::move(in_),
        [weak = std::weak_ptr<http_connection>(self())](std::string rest) {
          if (auto c = weak.lock(); c && !c->dead_)
            c->on_request_read(std::move(rest));
        },
        [weak = std::weak_ptr<http_connection>(self())](http_exchange::result r) {
          if (auto c = weak.lock(); c && !c->dead_)
            c->on_exchange_end(std::move(r));
        });
    in_.clear();
    exchange_->start();
  }

  void on_request_read(std::string rest) {
    in_ = std::move(rest);
    on_bytes(); // notice a client that goes away while the server thinks
  }

  void on_exchange_end(http_exchange::result r) {
    exchange_.reset();
    switch (r.how) {
      case http_exchange::end::reusable:
        stop_reading();
        idle_ = in_.empty();
        expect_progress_within(idle_ ? shared_->times.http_keep_alive : shared_->times.http_head);
        // Through the loop: a long pipeline must not become a deep stack.
        return boost::asio::post(shared_->io, [c = self()] {
          if (!c->dead_)
            c->read_head();
        });
      case http_exchange::end::close:
        return answer_and_close({});
      case http_exchange::end::cut:
        return abort();
      case http_exchange::end::no_answer:
        return send_refusal({502, socks::reply::general_failure,
                             "piorch: " + to_text(to_) + " was reached, but " + r.why + ".\n"});
    }
  }

  void refuse(const http_problem& p) {
    shared_->report("HTTP", 0, false, source::protocol);
    answer_and_close(
        answer(p.status, "piorch: the proxy did not accept this request: " + p.text + ".\n"));
  }

  void send_refusal(const refusal& r) {
    auto bytes = answer(r.http_status, r.text);
    if (request_.method == "HEAD")
      bytes.resize(bytes.size() - r.text.size());
    answer_and_close(std::move(bytes));
  }

  http_request request_;
  destination to_;
  phase phase_ = phase::head;
  bool idle_ = false;
  bool client_ended_ = false; // sent FIN while its passage opened
  bool probed_ = false;
  std::shared_ptr<http_exchange> exchange_;
};

} // namespace

std::shared_ptr<proxy_client> make_http_connection(std::shared_ptr<core> shared,
                                                   boost::asio::ip::tcp::socket client) {
  return std::make_shared<http_connection>(std::move(shared), std::move(client));
}

} // namespace piorch::sandbox::network
