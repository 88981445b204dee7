#include "sandbox/network/http_exchange.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace piorch::sandbox::network {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t body_piece = 16u << 10;

class exchange : public http_exchange, public std::enable_shared_from_this<exchange> {
public:
  exchange(std::shared_ptr<void> owner, tcp::socket& client, tcp::socket server,
           const http_request& request, const destination& to, const std::string& rest,
           std::function<void(std::string)> on_request_read, std::function<void(result)> done)
      : owner_(std::move(owner)), client_(client), server_(std::move(server)),
        head_(request.forward_head(to)), wants_keep_alive_(request.keep_alive),
        http_1_0_(request.http_1_0), expects_continue_(request.expects_continue),
        is_head_(request.method == "HEAD"), on_request_read_(std::move(on_request_read)),
        done_(std::move(done)) {
    const auto space = from_client_.prepare(rest.size());
    from_client_.commit(asio::buffer_copy(space, asio::buffer(rest)));
  }

  void start() override {
    // Beast reads the head that we wrote, not the one that came: two parsers
    // cannot disagree about it.
    error_code ec;
    request_.emplace();
    request_->header_limit(static_cast<std::uint32_t>(2 * limits::http_head_bytes));
    request_->body_limit(boost::none);
    request_->put(asio::buffer(head_), ec);
    if (ec || !request_->is_header_done()) {
      asio::post(server_.get_executor(), [self = shared_from_this()] {
        self->finish(end::no_answer, "the request cannot be passed on");
      });
      return;
    }
    request_out_.emplace(request_->get());
    http::async_write_header(server_, *request_out_,
                             [self = shared_from_this()](error_code e, std::size_t) {
                               if (self->done_)
                                 self->on_request_sent(e);
                             });
    read_response_head();
  }

  bool moved() override { return std::exchange(moved_, false); }

  void cancel() override {
    done_ = nullptr;
    on_request_read_ = nullptr;
    reset_on_close(server_);
    error_code ignored;
    server_.close(ignored);
    if (!request_read_)
      client_.cancel(ignored); // a read of ours may be pending; later ones are the owner's
  }

private:
  // -- client to server ------------------------------------------------------

  void on_request_sent(error_code ec) {
    if (ec == http::error::need_buffer)
      ec = {};
    if (ec)
      return; // The server may answer and close without reading the body (413):
              // the response decides, the rest of the request is not read.
    moved_ = true;
    const bool head_only = up_.empty();
    if (!request_->is_done() || (!head_only && !request_out_->is_done()))
      return read_request_piece();
    request_read_ = true;
    if (auto f = std::move(on_request_read_))
      f(take_rest());
  }

  void read_request_piece() {
    up_.resize(body_piece);
    offer(request_->get().body(), up_);
    http::async_read_some(
        client_, from_client_, *request_, [self = shared_from_this()](error_code ec, std::size_t) {
          if (!self->done_)
            return;
          if (ec && ec != http::error::need_buffer)
            return self->finish(end::cut);
          if (!self->fill(self->request_->get().body(), self->up_, self->request_->is_done()))
            return self->read_request_piece();
          http::async_write(self->server_, *self->request_out_, [self](error_code e, std::size_t) {
            if (self->done_)
              self->on_request_sent(e);
          });
        });
  }

  // -- bodies ----------------------------------------------------------------

  static void offer(http::buffer_body::value_type& body, std::vector<char>& space) {
    body.data = space.data();
    body.size = space.size();
  }

  // What was read into `space` becomes what is written; false if that is nothing.
  static bool fill(http::buffer_body::value_type& body, std::vector<char>& space, bool is_last) {
    const auto got = space.size() - body.size;
    body.size = got;
    // No data, not data of no bytes: that would be written as the last chunk.
    body.data = got != 0 ? space.data() : nullptr;
    body.more = !is_last;
    return got != 0 || is_last;
  }

  // -- server to client ------------------------------------------------------

  void read_response_head() {
    response_.emplace();
    response_->header_limit(static_cast<std::uint32_t>(limits::http_head_bytes));
    response_->body_limit(boost::none);
    response_->skip(is_head_);
    http::async_read_header(server_, from_server_, *response_,
                            [self = shared_from_this()](error_code ec, std::size_t) {
                              if (self->done_)
                                self->on_response_head(ec);
                            });
  }

  void on_response_head(error_code ec) {
    if (ec)
      return finish(end::no_answer, "the server ended the connection without a proper answer (" +
                                        ec.message() + ")");
    const auto status = response_->get().result_int();
    if (status == 101)
      return finish(end::no_answer, "the server switches protocols, which was not asked for");
    if (status / 100 == 1)
      return on_interim_response(status);
    prepare_response();
    response_out_.emplace(response_->get());
    answering_ = true;
    http::async_write_header(client_, *response_out_,
                             [self = shared_from_this()](error_code e, std::size_t) {
                               if (self->done_)
                                 self->on_response_sent(e);
                             });
  }

  void on_interim_response(unsigned status) {
    if (++interim_answers_ > limits::http_interim_answers)
      return finish(end::no_answer, "the server sent too many interim answers");
    // Only "100 Continue" is waited for by anybody; the others are hints.
    if (status != 100 || !expects_continue_)
      return read_response_head();
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(client_, asio::buffer(go_on),
                      [self = shared_from_this()](error_code e, std::size_t) {
                        if (!self->done_)
                          return;
                        if (e)
                          return self->finish(end::cut);
                        self->read_response_head();
                      });
  }

  void prepare_response() {
    auto& message = response_->get();
    const bool chunked = message.chunked();
    std::vector<std::string> drop;
    for (const auto& option : http::token_list{message[http::field::connection]})
      drop.emplace_back(option.data(), option.size());
    for (const auto& field : message)
      if (is_hop_by_hop({field.name_string().data(), field.name_string().size()}))
        drop.emplace_back(field.name_string().data(), field.name_string().size());
    for (const auto& name : drop)
      if (!beast::iequals(name, "content-length"))
        message.erase(name);
    const bool has_end = is_head_ || !response_->need_eof();
    reusable_ = wants_keep_alive_ && has_end;
    if (chunked && !http_1_0_)
      message.set(http::field::transfer_encoding, "chunked");
    else if (chunked)
      reusable_ = false; // HTTP/1.0 knows no chunks: the end of the connection ends the body
    message.version(11);
    message.set(http::field::connection, reusable_ ? "keep-alive" : "close");
  }

  void on_response_sent(error_code ec) {
    if (ec == http::error::need_buffer)
      ec = {};
    if (ec)
      return finish(end::cut);
    moved_ = true;
    const bool head_only = down_.empty();
    if (response_->is_done() && (head_only || response_out_->is_done()))
      return finish(reusable_ && request_read_ ? end::reusable : end::close);
    read_response_piece();
  }

  void read_response_piece() {
    down_.resize(body_piece);
    offer(response_->get().body(), down_);
    http::async_read_some(
        server_, from_server_, *response_, [self = shared_from_this()](error_code ec, std::size_t) {
          if (!self->done_)
            return;
          if (ec && ec != http::error::need_buffer)
            return self->finish(end::cut);
          if (!self->fill(self->response_->get().body(), self->down_, self->response_->is_done()))
            return self->read_response_piece();
          http::async_write(self->client_, *self->response_out_, [self](error_code e, std::size_t) {
            if (self->done_)
              self->on_response_sent(e);
          });
        });
  }

  // -- end -------------------------------------------------------------------

  std::string take_rest() {
    const auto data = from_client_.cdata();
    std::string rest(static_cast<const char*>(data.data()), data.size());
    from_client_.consume(data.size());
    return rest;
  }

  void finish(end how, std::string why = {}) {
    auto done = std::move(done_);
    result r{how == end::no_answer && answering_ ? end::cut : how, std::move(why)};
    cancel();
    done(std::move(r));
  }

  std::shared_ptr<void> owner_;
  tcp::socket& client_;
  tcp::socket server_;
  std::string head_;
  bool wants_keep_alive_, http_1_0_, expects_continue_, is_head_;
  std::function<void(std::string)> on_request_read_;
  std::function<void(result)> done_;

  beast::flat_buffer from_client_;
  beast::flat_buffer from_server_;
  std::optional<http::request_parser<http::buffer_body>> request_;
  std::optional<http::request_serializer<http::buffer_body>> request_out_;
  std::optional<http::response_parser<http::buffer_body>> response_;
  std::optional<http::response_serializer<http::buffer_body>> response_out_;
  std::vector<char> up_, down_;
  int interim_answers_ = 0;
  bool request_read_ = false, answering_ = false, reusable_ = false, moved_ = false;
};

} // namespace

std::shared_ptr<http_exchange> make_http_exchange(std::shared_ptr<void> owner, tcp::socket& client,
                                                  tcp::socket server, const http_request& request,
                                                  const destination& to, std::string rest,
                                                  std::function<void(std::string)> on_request_read,
                                                  std::function<void(http_exchange::result)> done) {
  return std::make_shared<exchange>(std::move(owner), client, std::move(server), request, to, rest,
                                    std::move(on_request_read), std::move(done));
}

} // namespace piorch::sandbox::network
