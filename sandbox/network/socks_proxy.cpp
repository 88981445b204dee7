// One SOCKS5 connection: greeting, request, tunnel. SOCKS has no words for a
// reason; the code says "not allowed" and the report says why.
#include "config/network_limits.hpp"
#include "sandbox/network/proxy_client.hpp"

namespace piorch::sandbox::network {
namespace {

constexpr std::size_t message_max =
    2 + 255 + 4 + 1 + 255 + 2; // greeting and request at their longest

class socks_connection : public proxy_client {
public:
  using proxy_client::proxy_client;

  void start() override {
    expect_progress_within(shared_->times.socks_handshake);
    on_bytes();
  }

private:
  void on_bytes() override {
    if (is_opening()) {
      if (in_.size() < limits::early_data_bytes)
        read_more(limits::early_data_bytes - in_.size());
    } else if (!greeted_) {
      on_greeting(socks::parse_greeting(in_));
    } else {
      on_request(socks::parse_request(in_));
    }
  }

  void on_client_end(bool reset) override {
    if (reset || !is_opening() || is_asking())
      abort(); // otherwise the relay sees the FIN again and passes it on
  }

  void on_greeting(const socks::greeting& g) {
    switch (g.what) {
      case socks::step::need_more:
        return read_more(message_max - in_.size());
      case socks::step::socks4:
        shared_->report("SOCKS4", 0, false, source::protocol);
        return answer_and_close(socks::refuse_socks4());
      case socks::step::malformed:
        shared_->report("SOCKS", 0, false, source::protocol);
        return abort();
      case socks::step::done:
        break;
    }
    in_.erase(0, g.used);
    if (!g.offers_no_auth) {
      shared_->report("SOCKS", 0, false, source::protocol);
      return answer_and_close(socks::choose_method(false));
    }
    greeted_ = true;
    send(socks::choose_method(true), [this] { on_bytes(); });
  }

  void on_request(const socks::request& r) {
    if (r.what == socks::step::need_more)
      return read_more(message_max - std::min(in_.size(), message_max - 1));
    if (r.what != socks::step::done) {
      shared_->report("SOCKS", 0, false, source::protocol);
      return answer_and_close(socks::answer(r.failure));
    }
    in_.erase(0, r.used);
    if (r.command_code != static_cast<std::uint8_t>(socks::command::connect)) {
      shared_->report(printable(r.host), r.port, false, source::protocol);
      return answer_and_close(socks::answer(socks::reply::command_not_supported));
    }
    // A name in the address field's clothes is judged like one: "127.0.0.1" is
    // refused whether it comes as four bytes or as nine letters.
    auto host = canonical_host(r.host);
    if (!host)
      return answer_and_close(
          socks::answer(refuse_name(*shared_, r.host, r.port, host.failed()).socks_code));
    if (r.port == 0)
      return answer_and_close(socks::answer(
          refuse_name(*shared_, r.host, 0, {failure::usage, "0 is not a port (1 to 65535)"})
              .socks_code));
    stop_clock(); // from here on it may take as long as somebody thinks
    open({std::move(*host), r.port}, "SOCKS");
  }

  void on_open(passage::outcome outcome) override {
    if (auto* server = std::get_if<socket>(&outcome))
      tunnel(std::move(*server), socks::answer(socks::reply::granted));
    else
      answer_and_close(socks::answer(std::get<refusal>(outcome).socks_code));
  }

  bool greeted_ = false;
};

} // namespace

std::shared_ptr<proxy_client> make_socks_connection(std::shared_ptr<core> shared,
                                                    boost::asio::ip::tcp::socket client) {
  return std::make_shared<socks_connection>(std::move(shared), std::move(client));
}

} // namespace piorch::sandbox::network
