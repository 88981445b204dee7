#include "sandbox/network/local_port.hpp"

#include "sandbox/network/dialer.hpp"
#include "sandbox/network/proxy_client.hpp"
#include "sandbox/network/socket_options.hpp"

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

class local_connection : public connection, public std::enable_shared_from_this<local_connection> {
public:
  local_connection(std::shared_ptr<core> shared, asio::ip::tcp::socket client, std::uint16_t port)
      : connection(std::move(shared)), client_(std::move(client)), port_(port) {
    ++shared_->relays->coming;
  }
  ~local_connection() override {
    --shared_->relays->coming;
    shared_->relays->check_rest();
  }

  void start() {
    shared_->report("localhost", port_, true, source::local_port);
    // The dialer holds us until it is done.
    dialling_ = std::make_shared<dialer>(
        shared_->io,
        std::vector<asio::ip::address>{asio::ip::address_v4::loopback(),
                                       asio::ip::address_v6::loopback()},
        port_, shared_->times.connect,
        [self = shared_from_this()](error_code ec, asio::ip::tcp::socket s) {
          self->on_dialled(ec, std::move(s));
        });
    dialling_->start();
  }

  void abort() override {
    const auto keep = shared_from_this();
    if (auto d = std::move(dialling_))
      d->cancel();
    reset_on_close(client_);
    error_code ignored;
    client_.close(ignored);
  }

private:
  void on_dialled(error_code ec, asio::ip::tcp::socket server) {
    dialling_.reset();
    if (ec)
      return abort(); // nobody listens there: a reset is what that looks like
    no_delay(server);
    start_tunnel(shared_, std::move(client_), std::move(server), {}, {});
  }

  asio::ip::tcp::socket client_;
  std::uint16_t port_;
  std::shared_ptr<dialer> dialling_;
};

} // namespace

void start_local_connection(std::shared_ptr<core> shared, asio::ip::tcp::socket client,
                            std::uint16_t port) {
  std::make_shared<local_connection>(std::move(shared), std::move(client), port)->start();
}

} // namespace piorch::sandbox::network
