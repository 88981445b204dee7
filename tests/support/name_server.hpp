// A name server for tests: answers what the test says, differently each time if
// asked to (rebinding), and keeps a log of every question. UDP and TCP; lives on
// an io_context, may be asked from any thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace piorch::test {

class name_server {
public:
  using udp = boost::asio::ip::udp;
  using tcp = boost::asio::ip::tcp;

  enum class mode { answers, silent, truncates, fails };

  // Make it inside the namespace it is to listen in.
  name_server(boost::asio::io_context& io, const std::string& address)
      : socket_(io, udp::endpoint(boost::asio::ip::make_address(address), 53)),
        acceptor_(io, tcp::endpoint(boost::asio::ip::make_address(address), 53)) {
    receive();
    accept();
  }

  // Each look-up of the name takes the next list; the last one stays.
  void set(const std::string& name, std::vector<std::vector<std::string>> answers,
           unsigned ttl = 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    zone_[name] = {std::move(answers), ttl, 0, 0};
  }
  void behave(mode m) {
    std::lock_guard<std::mutex> lock(mutex_);
    mode_ = m;
  }
  // "example.org A", in order of arrival.
  std::vector<std::string> log() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }
  std::size_t asked_for(const std::string& name) const {
    const auto all = log();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), name + " A"));
  }

private:
  struct entry {
    std::vector<std::vector<std::string>> answers;
    unsigned ttl = 0;
    std::size_t a_at = 0, aaaa_at = 0;
  };

  static void put16(std::string& s, unsigned v) {
    s += static_cast<char>(v >> 8);
    s += static_cast<char>(v & 0xff);
  }

  // Empty: no answer is sent.
  std::string answer(const std::string& q, bool over_tcp) {
    std::string name;
    std::size_t at = 12;
    while (at < q.size() && q[at] != 0) {
      const auto n = static_cast<unsigned char>(q[at]);
      name += (name.empty() ? "" : ".") + q.substr(at + 1, n);
      at += n + 1u;
    }
    if (at + 5 > q.size())
      return {};
    const unsigned type = static_cast<unsigned char>(q[at + 2]);
    std::lock_guard<std::mutex> lock(mutex_);
    log_.push_back(name + (type == 28 ? " AAAA" : " A") + (over_tcp ? " TCP" : ""));
    if (mode_ == mode::silent)
      return {};
    auto found = zone_.find(name);
    const bool cut = mode_ == mode::truncates && !over_tcp;
    unsigned flags = cut                    ? 0x8380
                     : mode_ == mode::fails ? 0x8182
                     : found == zone_.end() ? 0x8183
                                            : 0x8180;
    std::string records;
    unsigned count = 0;
    if (flags == 0x8180) {
      auto& e = found->second;
      auto& turn = type == 28 ? e.aaaa_at : e.a_at;
      const auto& list = e.answers[std::min(turn++, e.answers.size() - 1)];
      for (const auto& text : list) {
        const auto address = boost::asio::ip::make_address(text);
        if (address.is_v6() != (type == 28))
          continue;
        ++count;
        put16(records, 0xc00c);
        put16(records, type);
        put16(records, 1);
        put16(records, e.ttl >> 16);
        put16(records, e.ttl & 0xffff);
        if (address.is_v6()) {
          put16(records, 16);
          for (auto b : address.to_v6().to_bytes())
            records += static_cast<char>(b);
        } else {
          put16(records, 4);
          for (auto b : address.to_v4().to_bytes())
            records += static_cast<char>(b);
        }
      }
    }
    std::string out = q.substr(0, 2);
    put16(out, flags);
    put16(out, 1);
    put16(out, count);
    put16(out, 0);
    put16(out, 0);
    return out + q.substr(12, at + 5 - 12) + records;
  }

  void receive() {
    socket_.async_receive_from(boost::asio::buffer(buffer_), peer_, [this](auto ec, std::size_t n) {
      if (ec == boost::asio::error::operation_aborted)
        return;
      if (const auto a = answer(std::string(buffer_.data(), n), false); !a.empty()) {
        boost::system::error_code ignored;
        socket_.send_to(boost::asio::buffer(a), peer_, 0, ignored);
      }
      receive();
    });
  }

  void accept() {
    acceptor_.async_accept([this](auto ec, tcp::socket s) {
      if (ec)
        return;
      auto peer = std::make_shared<tcp::socket>(std::move(s));
      auto data = std::make_shared<std::string>(2, '\0');
      boost::asio::async_read(*peer, boost::asio::buffer(*data), [=](auto e, std::size_t) {
        if (e)
          return;
        data->resize(static_cast<unsigned char>((*data)[0]) * 256u +
                     static_cast<unsigned char>((*data)[1]));
        boost::asio::async_read(*peer, boost::asio::buffer(*data), [=](auto e2, std::size_t) {
          if (e2)
            return;
          const auto a = answer(*data, true);
          data->clear();
          put16(*data, static_cast<unsigned>(a.size()));
          *data += a;
          boost::asio::async_write(*peer, boost::asio::buffer(*data), [=](auto, std::size_t) {
            (void)peer;
            (void)data;
          });
        });
      });
      accept();
    });
  }

  udp::socket socket_;
  tcp::acceptor acceptor_;
  udp::endpoint peer_;
  std::array<char, 2048> buffer_{};
  mutable std::mutex mutex_;
  std::map<std::string, entry> zone_;
  std::vector<std::string> log_;
  mode mode_ = mode::answers;
};

} // namespace piorch::test
