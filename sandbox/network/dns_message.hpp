// A DNS question for the addresses of one name, and the strict reading of the
// answer (RFC 1035). Pure, any thread. The answer comes from outside: every
// length is checked, compression pointers may only go back, and only records on
// the alias chain that starts at the question count.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::network::dns {

enum class record : std::uint16_t { a = 1, cname = 5, aaaa = 28 };

// `host` is canonical (host_name.hpp).
std::string question(std::uint16_t id, std::string_view host, record type);

struct response {
  enum class kind {
    foreign,   // not an answer to this question: ignore it and keep waiting
    addresses, // possibly none: the name exists without such a record
    no_name,   // NXDOMAIN
    truncated, // ask again over TCP
    failed,    // the server cannot or will not say; ask another one
  };
  kind what = kind::foreign;
  std::vector<boost::asio::ip::address> addresses;
  std::chrono::seconds ttl{0}; // the smallest on the chain
};
response read_response(std::string_view message, std::uint16_t id, std::string_view host,
                       record type);

} // namespace piorch::sandbox::network::dns
