// One absolute-form request and its response between a client and an origin
// server: both are taken apart and put together again by Beast, so that only
// well-formed messages of known extent pass, each way while the other still
// runs. The server connection serves this one exchange. Asio thread only.
// Internal to sandbox/network.
#pragma once

#include "sandbox/network/http_head.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>
#include <string>

namespace piorch::sandbox::network {

class http_exchange {
public:
  enum class end {
    reusable, // the response is out, the next request may come
    close,    // the response is out, close in good order
    cut,      // something failed half-way: reset the client
    no_answer // nothing was sent to the client: tell it why
  };
  struct result {
    end how = end::cut;
    std::string why; // of no_answer
  };

  virtual ~http_exchange() = default;
  virtual void start() = 0;
  virtual bool moved() = 0;  // whether anything was passed on since the last call
  virtual void cancel() = 0; // no call-back; the server connection is reset
};

// `client` stays the caller's; `owner` keeps it alive as long as anything is
// pending. `rest` is what was read behind the head. `done` is called once, not from
// within start(). The request body is read by the exchange; when that is
// complete `on_request_read(rest)` says that the client may be watched again.
std::shared_ptr<http_exchange> make_http_exchange(std::shared_ptr<void> owner,
                                                  boost::asio::ip::tcp::socket& client,
                                                  boost::asio::ip::tcp::socket server,
                                                  const http_request& request,
                                                  const destination& to, std::string rest,
                                                  std::function<void(std::string)> on_request_read,
                                                  std::function<void(http_exchange::result)> done);

} // namespace piorch::sandbox::network
