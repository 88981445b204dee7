#include "sandbox/network/dns_files.hpp"
#include "sandbox/network/dns_message.hpp"
#include "sandbox/network/http_head.hpp"
#include "sandbox/network/socks_message.hpp"

#include "config/network_limits.hpp"

#include <gtest/gtest.h>

namespace {

using namespace piorch;
using namespace piorch::sandbox::network;
using namespace std::string_literals;

// -- HTTP ---------------------------------------------------------------------

// The status a head is refused with, 0 if it is accepted.
int status_of(const std::string& head, http_request* out = nullptr) {
  const auto scan = find_head_end(head);
  if (scan.problem)
    return scan.problem->status;
  if (scan.end == 0)
    return -1;
  http_request r;
  const auto problem = parse_request(std::string_view(head).substr(0, scan.end), r);
  if (out)
    *out = r;
  return problem ? problem->status : 0;
}

const std::string get = "GET http://example.org/a?b HTTP/1.1\r\nHost: example.org\r\n";

TEST(SandboxNetworkHttpHead, Connect) {
  http_request r;
  EXPECT_EQ(status_of("CONNECT Example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", &r), 0);
  EXPECT_EQ(r.form, http_request::form_type::connect);
  EXPECT_EQ(r.authority, "Example.org:443");
  EXPECT_EQ(status_of("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n"), 0);
  EXPECT_EQ(status_of("CONNECT example.org:443 HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(status_of("CONNECT example.org:443 HTTP/1.1\r\nHost: a.example.net\r\n\r\n"), 400);
  EXPECT_EQ(status_of("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"),
            400);
  EXPECT_EQ(status_of("CONNECT a.example.org:1 HTTP/1.1\r\nHost: a.example.org\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"),
            400);
}

TEST(SandboxNetworkHttpHead, TheForwardedHeadIsOurs) {
  http_request r;
  ASSERT_EQ(status_of("POST HTTP://EXAMPLE.org:8080?q HTTP/1.1\r\nHost: example.org:8080\r\n"
                      "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\nTE: trailers\r\n"
                      "Upgrade: h2c\r\nProxy-Authorization: Basic secret\r\nProxy-Connection: x\r\n"
                      "Trailer: y\r\nAccept:  */*  \r\nContent-Length: 3\r\n\r\nabc",
                      &r),
            0);
  EXPECT_EQ(r.forward_head({"example.org", 8080}),
            "POST /?q HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_FALSE(r.keep_alive);
}

TEST(SandboxNetworkHttpHead, KeepAlive) {
  http_request r;
  EXPECT_EQ(status_of(get + "\r\n", &r), 0);
  EXPECT_TRUE(r.keep_alive);
  EXPECT_EQ(status_of(get + "Proxy-Connection: close\r\n\r\n", &r), 0);
  EXPECT_FALSE(r.keep_alive);
  EXPECT_EQ(status_of("GET http://example.org/ HTTP/1.0\r\n\r\n", &r), 0);
  EXPECT_FALSE(r.keep_alive);
  EXPECT_EQ(status_of("GET http://example.org/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &r), 0);
  EXPECT_TRUE(r.keep_alive);
}

TEST(SandboxNetworkHttpHead, WhatSmugglesIsRefused) {
  const auto post = "POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"s;
  for (const auto& head : {
           post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
           post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
           post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
           post + "Content-Length: 4, 4\r\n\r\n",
           post + "Content-Length: +4\r\n\r\n",
           post + "Content-Length: -4\r\n\r\n",
           post + "Content-Length: 0x4\r\n\r\n",
           post + "Content-Length:\r\n\r\n",
           post + "Content-Length: 99999999999999999999\r\n\r\n",
           post + "Content-Length : 4\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
           "POST http://example.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           post + " folded: x\r\n\r\n",
           post + "X: a\r\n\tb\r\n\r\n",
           post + "X: a\nY: b\r\n\r\n",
           post + "X: a\rY: b\r\n\r\n",
           post + "X: a\0b\r\n\r\n"s,
           post + "no colon\r\n\r\n",
           post + ": no name\r\n\r\n",
           post + "X Y: z\r\n\r\n",
           post + "X\x80: z\r\n\r\n",
           post + "Host: example.org\r\n\r\n",
           "GET http://example.org/ HTTP/1.1\r\nHost: example.net\r\n\r\n"s,
           "GET http://example.org/ HTTP/1.1\r\nHost: example.org:81\r\n\r\n"s,
           "GET http://example.org/ HTTP/1.1\r\n\r\n"s,
           "GET /path HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET ftp://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "OPTIONS * HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET  http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET http://example.org/ x HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET http://example.org/#f HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GE T http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "GET http://example.org/\xc3\xa9 HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "\r\nGET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"s,
           "\n"s,
           "\x16\x03\x01\x02\x00\x01\x00\n"s,
           "GET http://example.org/\r\n\r\n"s,
       })
    EXPECT_EQ(status_of(head), 400) << head;
}

TEST(SandboxNetworkHttpHead, WhatIsNotSupportedSaysSo) {
  EXPECT_EQ(status_of("GET http://example.org/ HTTP/2.0\r\nHost: example.org\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET http://example.org/ http/1.1\r\nHost: example.org\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of(get + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(get + "Transfer-Encoding: xchunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(get + "Transfer-Encoding: \"chunked\"\r\n\r\n"), 501);
  EXPECT_EQ(status_of(get + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), 501);
  EXPECT_EQ(status_of(get + "Expect: 200-ok\r\n\r\n"), 417);
  EXPECT_EQ(status_of(get + "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
            0); // ignored, as it may be
}

TEST(SandboxNetworkHttpHead, BoundsOnSizeAndNumber) {
  EXPECT_EQ(status_of(get + "X: " + std::string(limits::http_head_bytes, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status_of(get + "X: " + std::string(limits::http_head_bytes, 'x')), 431);
  EXPECT_EQ(status_of(std::string(limits::http_head_bytes, 'x')), 431);
  std::string many = get;
  for (int i = 0; i < 201; ++i)
    many += "X: y\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  EXPECT_EQ(status_of(get), -1);
}

TEST(SandboxNetworkHttpHead, TheEndIsFoundWhateverFollows) {
  const auto head = get + "\r\n";
  EXPECT_EQ(find_head_end(head + "\nGET / \0garbage"s).end, head.size());
}

// -- SOCKS --------------------------------------------------------------------

TEST(SandboxNetworkSocks, Greeting) {
  EXPECT_EQ(socks::parse_greeting("").what, socks::step::need_more);
  EXPECT_EQ(socks::parse_greeting("\x05").what, socks::step::need_more);
  EXPECT_EQ(socks::parse_greeting("\x05\x02\x00"s).what, socks::step::need_more);
  const auto g = socks::parse_greeting("\x05\x02\x02\x00rest"s);
  EXPECT_EQ(g.what, socks::step::done);
  EXPECT_EQ(g.used, 4u);
  EXPECT_TRUE(g.offers_no_auth);
  EXPECT_FALSE(socks::parse_greeting("\x05\x01\x02"s).offers_no_auth);
  EXPECT_EQ(socks::parse_greeting("\x05\x00"s).what, socks::step::malformed);
  EXPECT_EQ(socks::parse_greeting("\x04\x01"s).what, socks::step::socks4);
  EXPECT_EQ(socks::parse_greeting("CONNECT ").what, socks::step::malformed);
}

TEST(SandboxNetworkSocks, Request) {
  const auto name = "\x05\x01\x00\x03\x0b"
                    "example.org\x01\xbb"s;
  for (std::size_t n = 0; n < name.size(); ++n)
    EXPECT_EQ(socks::parse_request(name.substr(0, n)).what, socks::step::need_more) << n;
  auto r = socks::parse_request(name + "early");
  EXPECT_EQ(r.what, socks::step::done);
  EXPECT_EQ(r.used, name.size());
  EXPECT_EQ(r.host, "example.org");
  EXPECT_EQ(r.port, 443);
  r = socks::parse_request("\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x35"s);
  EXPECT_EQ(r.host, "127.0.0.1");
  EXPECT_TRUE(r.is_address);
  EXPECT_EQ(r.command_code, 3);
  r = socks::parse_request("\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01\x00\x50"s);
  EXPECT_EQ(r.host, "::1");
  EXPECT_EQ(socks::parse_request("\x05\x01\x00\x02xx"s).failure,
            socks::reply::address_type_not_supported);
  EXPECT_EQ(socks::parse_request("\x05\x01\x01"s).what, socks::step::malformed);
  EXPECT_EQ(socks::parse_request("\x04\x01\x00"s).what, socks::step::malformed);
}

// -- DNS ----------------------------------------------------------------------

// A response to a question for example.org A with id 7, `answers` appended.
std::string reply(unsigned flags, unsigned count, const std::string& answers) {
  auto q = dns::question(7, "example.org", dns::record::a);
  q[2] = static_cast<char>(flags >> 8);
  q[3] = static_cast<char>(flags & 0xff);
  q[7] = static_cast<char>(count);
  return q + answers;
}
const std::string a_record = "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"s;

dns::response read(const std::string& message) {
  return dns::read_response(message, 7, "example.org", dns::record::a);
}

TEST(SandboxNetworkDns, AnAddress) {
  const auto r = read(reply(0x8180, 1, a_record));
  EXPECT_EQ(r.what, dns::response::kind::addresses);
  ASSERT_EQ(r.addresses.size(), 1u);
  EXPECT_EQ(r.addresses[0].to_string(), "192.0.2.1");
  EXPECT_EQ(r.ttl.count(), 60);
}

TEST(SandboxNetworkDns, OnlyTheAnswerToThisQuestionCounts) {
  auto kind = [](const std::string& m) { return read(m).what; };
  const auto good = reply(0x8180, 1, a_record);
  EXPECT_EQ(kind(reply(0x0100, 1, a_record)), dns::response::kind::foreign); // a question
  EXPECT_EQ(kind(""), dns::response::kind::foreign);
  EXPECT_EQ(dns::read_response(good, 8, "example.org", dns::record::a).what,
            dns::response::kind::foreign);
  EXPECT_EQ(dns::read_response(good, 7, "example.net", dns::record::a).what,
            dns::response::kind::foreign);
  EXPECT_EQ(dns::read_response(good, 7, "example.org", dns::record::aaaa).what,
            dns::response::kind::foreign);
  EXPECT_EQ(kind(reply(0x8183, 0, "")), dns::response::kind::no_name);
  EXPECT_EQ(kind(reply(0x8182, 0, "")), dns::response::kind::failed);
  EXPECT_EQ(kind(reply(0x8380, 0, "")), dns::response::kind::truncated);
  EXPECT_EQ(kind(reply(0x8180, 0, "")), dns::response::kind::addresses);
}

TEST(SandboxNetworkDns, RecordsOfOtherNamesDoNotCount) {
  const auto other = "\x03"
                     "www\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01"s;
  EXPECT_TRUE(read(reply(0x8180, 1, other)).addresses.empty());
  const auto alias = "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x05\x00\x06\x03"
                     "www\xc0\x0c"s;
  const auto r = read(reply(0x8180, 2, alias + other)); // example.org is www.example.org
  ASSERT_EQ(r.addresses.size(), 1u);
  EXPECT_EQ(r.ttl.count(), 5);
}

TEST(SandboxNetworkDns, CutAndCircularMessagesFail) {
  const auto good = reply(0x8180, 1, a_record);
  for (std::size_t n = 29; n < good.size(); ++n)
    EXPECT_EQ(read(good.substr(0, n)).what, dns::response::kind::failed) << n;
  const auto self = "\xc0\x1d\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"s;
  EXPECT_EQ(read(reply(0x8180, 1, self)).what, dns::response::kind::failed);
  const auto loop = "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x05\x00\x02\xc0\x0c"s; // alias of itself
  EXPECT_TRUE(read(reply(0x8180, 1, loop)).addresses.empty());
}

TEST(SandboxNetworkDns, Files) {
  const auto s =
      dns::parse_resolv_conf("# c\nnameserver 192.0.2.53\nsearch x\nnameserver bad\n"
                             "nameserver 2001:db8::53 # c\noptions timeout:1 attempts:9\n");
  ASSERT_EQ(s.servers.size(), 2u);
  EXPECT_EQ(s.servers[1].to_string(), "2001:db8::53");
  EXPECT_EQ(s.attempt_time.count(), 1);
  EXPECT_EQ(s.attempts, 3u);
  EXPECT_EQ(dns::parse_resolv_conf("").servers.at(0).to_string(), "127.0.0.1");
  const auto h = dns::parse_hosts("127.0.0.1 localhost\n192.0.2.9\tWWW.example.org web # c\n"
                                  "2001:db8::9 www.example.org\nnonsense example.org\n");
  ASSERT_EQ(h.size(), 1u);
  EXPECT_EQ(h.at("www.example.org").size(), 2u);
}

} // namespace
