#include "sandbox/network/dns_lookup.hpp"

#include "config/network_limits.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdlib>
#include <sys/random.h>

namespace piorch::sandbox::network::dns {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;

constexpr std::size_t datagram_max = 4096;
// One family answered: how long the other may still take (RFC 8305 has 50 ms,
// resolvers on slow links want more).
constexpr std::chrono::milliseconds second_family_grace{250};

std::uint16_t random_id() {
  std::uint16_t id = 0;
  // Two bytes never block or come short once the kernel's pool is up.
  if (::getrandom(&id, sizeof id, 0) != sizeof id)
    std::abort(); // a guessable id would let anybody answer
  return id;
}

} // namespace

lookup::lookup(asio::io_context& io, std::string host, server_list servers, std::uint16_t port,
               std::function<void(outcome)> done)
    : io_(io), host_(std::move(host)), servers_(std::move(servers)), port_(port),
      done_(std::move(done)), udp_(io), attempt_timer_(io),
      total_timer_(io), queries_{query{record::aaaa, 0, {}, tcp::socket(io), {}},
                                 query{record::a, 0, {}, tcp::socket(io), {}}},
      datagram_(datagram_max) {}

void lookup::start() {
  if (!done_) // called off before the loop came to it
    return;
  total_timer_.expires_after(limits::dns_time);
  total_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec)
      self->finish();
  });
  next_attempt();
}

void lookup::cancel() {
  done_ = nullptr;
  ++epoch_;
  error_code ignored;
  udp_.close(ignored);
  for (auto& q : queries_)
    q.tcp.close(ignored);
  attempt_timer_.cancel();
  total_timer_.cancel();
}

// Attempt n asks server n modulo their number; what is still open is asked again.
void lookup::next_attempt() {
  const auto count = static_cast<unsigned>(servers_.servers.size());
  if (attempt_ >= count * servers_.attempts) {
    finish();
    return;
  }
  const udp::endpoint server(servers_.servers[attempt_++ % count], port_);
  ++epoch_;
  error_code ec;
  udp_.close(ec);
  udp_.open(server.protocol(), ec);
  if (!ec)
    udp_.connect(server, ec); // so the kernel drops datagrams of others
  if (ec) {
    asio::post(io_, [self = shared_from_this(), epoch = epoch_] {
      if (self->epoch_ == epoch)
        self->next_attempt();
    });
    return;
  }
  for (auto& q : queries_)
    if (!q.answer || q.answer->what == response::kind::failed) {
      q.answer.reset();
      q.tcp.close(ec);
      do
        q.id = random_id();
      while (queries_[0].id == queries_[1].id);
      send(q);
    }
  attempt_timer_.expires_after(servers_.attempt_time);
  attempt_timer_.async_wait([self = shared_from_this(), epoch = epoch_](error_code e) {
    if (!e && self->epoch_ == epoch)
      self->on_attempt_timeout();
  });
  receive();
}

void lookup::send(query& q) {
  error_code ec; // a full socket buffer or ECONNREFUSED shows as silence: the timer's business
  udp_.send(asio::buffer(question(q.id, host_, q.type)), 0, ec);
}

void lookup::receive() {
  udp_.async_receive(asio::buffer(datagram_),
                     [self = shared_from_this(), epoch = epoch_](error_code ec, std::size_t n) {
                       if (self->epoch_ != epoch || ec == asio::error::operation_aborted)
                         return;
                       if (ec) // ECONNREFUSED: nobody listens there
                         self->next_attempt();
                       else
                         self->on_datagram(n);
                     });
}

lookup::query* lookup::by_id(std::uint16_t id) {
  for (auto& q : queries_)
    if (q.id == id && !q.answer)
      return &q;
  return nullptr;
}

void lookup::on_datagram(std::size_t size) {
  const std::string_view message(datagram_.data(), size);
  const auto epoch = epoch_;
  if (size >= 2) {
    const auto id = static_cast<std::uint16_t>((static_cast<unsigned char>(message[0]) << 8) |
                                               static_cast<unsigned char>(message[1]));
    if (auto* q = by_id(id)) {
      auto r = read_response(message, q->id, host_, q->type);
      if (r.what == response::kind::truncated)
        ask_over_tcp(*q);
      else if (r.what != response::kind::foreign)
        settle(*q, std::move(r));
    }
  }
  if (done_ && epoch_ == epoch)
    receive();
}

void lookup::ask_over_tcp(query& q) {
  if (q.tcp.is_open())
    return;
  error_code ec;
  const auto peer = udp_.remote_endpoint(ec);
  if (ec)
    return;
  auto failed = [self = shared_from_this(), &q, epoch = epoch_](error_code e) {
    if (self->epoch_ != epoch)
      return true;
    if (e) {
      response r;
      r.what = response::kind::failed;
      self->settle(q, std::move(r));
    }
    return !!e;
  };
  q.tcp.async_connect(tcp::endpoint(peer.address(), peer.port()), [this, &q, failed](error_code e) {
    if (failed(e))
      return;
    auto body = question(q.id, host_, q.type);
    auto message = std::make_shared<std::string>();
    *message += static_cast<char>(body.size() >> 8);
    *message += static_cast<char>(body.size() & 0xff);
    *message += body;
    asio::async_write(
        q.tcp, asio::buffer(*message), [this, &q, failed, message](error_code e2, std::size_t) {
          if (failed(e2))
            return;
          q.tcp_bytes.assign(2, '\0');
          asio::async_read(
              q.tcp, asio::buffer(q.tcp_bytes), [this, &q, failed](error_code e3, std::size_t) {
                if (failed(e3))
                  return;
                const auto length =
                    static_cast<std::size_t>((static_cast<unsigned char>(q.tcp_bytes[0]) << 8) |
                                             static_cast<unsigned char>(q.tcp_bytes[1]));
                q.tcp_bytes.assign(length, '\0');
                asio::async_read(q.tcp, asio::buffer(q.tcp_bytes),
                                 [this, &q, failed](error_code e4, std::size_t) {
                                   if (failed(e4))
                                     return;
                                   auto r = read_response(q.tcp_bytes, q.id, host_, q.type);
                                   if (r.what == response::kind::foreign ||
                                       r.what == response::kind::truncated)
                                     r.what = response::kind::failed;
                                   settle(q, std::move(r));
                                 });
              });
        });
  });
}

void lookup::settle(query& q, response r) {
  q.answer = std::move(r);
  error_code ignored;
  q.tcp.close(ignored);
  check();
}

void lookup::check() {
  if (!done_)
    return;
  bool open = false, failed = false, found = false;
  for (const auto& q : queries_) {
    open |= !q.answer;
    failed |= q.answer && q.answer->what == response::kind::failed;
    found |= q.answer && !q.answer->addresses.empty();
    if (q.answer && q.answer->what == response::kind::no_name) {
      finish(); // the name does not exist, whatever the type
      return;
    }
  }
  if (!open && (found || !failed)) {
    finish();
  } else if (!open) {
    next_attempt(); // another server may know
  } else if (found && !grace_) {
    grace_ = true;
    attempt_timer_.expires_after(second_family_grace);
    attempt_timer_.async_wait([self = shared_from_this(), epoch = epoch_](error_code ec) {
      if (!ec && self->epoch_ == epoch)
        self->finish();
    });
  }
}

void lookup::on_attempt_timeout() { next_attempt(); }

void lookup::finish() {
  if (!done_)
    return;
  std::vector<asio::ip::address> addresses;
  auto ttl = limits::dns_cache_time;
  bool said = false;
  for (const auto& q : queries_) {
    if (!q.answer || q.answer->what == response::kind::failed)
      continue;
    said = true;
    if (!q.answer->addresses.empty())
      ttl = std::min(ttl, q.answer->ttl);
    addresses.insert(addresses.end(), q.answer->addresses.begin(), q.answer->addresses.end());
  }
  auto done = std::move(done_);
  cancel();
  if (!addresses.empty())
    done({std::move(addresses), ttl});
  else if (said)
    done({error{failure::fault, "the name '" + host_ + "' has no address in the DNS"}, {}});
  else
    done({error{failure::timed_out, "no name server answered for '" + host_ + "'"}, {}});
}

} // namespace piorch::sandbox::network::dns
