#include "sandbox/network/host_name.hpp"
#include "sandbox/network/punycode.hpp"

#include <gtest/gtest.h>

namespace {

using namespace piorch::sandbox::network;

std::string canonical(std::string_view spelled) {
  auto r = canonical_host(spelled);
  return r ? *r : "refused: " + r.failed().text;
}

bool is_refused(std::string_view spelled, const std::string& word) {
  auto r = canonical_host(spelled);
  return !r && r.failed().text.find(word) != std::string::npos;
}

TEST(SandboxNetworkHostName, OneSpellingForEveryCase) {
  EXPECT_EQ(canonical("example.org"), "example.org");
  EXPECT_EQ(canonical("EXAMPLE.Org"), "example.org");
  EXPECT_EQ(canonical("example.org."), "example.org");
  EXPECT_EQ(canonical("a-b.c_d.example.org"), "a-b.c_d.example.org");
  EXPECT_EQ(canonical("r3---sn-x.example.org"), "r3---sn-x.example.org");
  EXPECT_EQ(canonical("xn--bcher-kva.example.org"), "xn--bcher-kva.example.org");
  EXPECT_EQ(canonical("XN--BCHER-KVA.example.org"), "xn--bcher-kva.example.org");
  EXPECT_EQ(canonical("1.2.3.4.example.org"), "1.2.3.4.example.org");
}

TEST(SandboxNetworkHostName, AddressesInEverySpellingAreRefused) {
  for (auto spelled : {"127.0.0.1",
                       "127.1",
                       "127.0.1",
                       "2130706433",
                       "0x7f000001",
                       "0x7f.1",
                       "0X7F.0.0.1",
                       "0177.0.0.1",
                       "017700000001",
                       "0",
                       "0.0.0.0",
                       "1.1.1.1",
                       "192.0.2.1.",
                       "1.2.3.0x",
                       "1.0x",
                       "256.256.256.256",
                       "::1",
                       "::",
                       "[::1]",
                       "[::ffff:127.0.0.1]",
                       "::ffff:7f00:1",
                       "2001:db8::1",
                       "[2001:db8::1]",
                       "fe80::1%eth0",
                       "[fe80::1%25eth0]",
                       "[64:ff9b::7f00:1]",
                       "2002:7f00:1::",
                       "[",
                       "[::1",
                       "example.09",
                       "foo.0x1f"})
    EXPECT_TRUE(is_refused(spelled, "IP address")) << spelled << ": " << canonical(spelled);
}

TEST(SandboxNetworkHostName, BytesThatHideANameAreRefused) {
  using namespace std::string_view_literals;
  for (auto spelled : {"exa%6dple.org"sv,
                       "example%2eorg"sv,
                       "example.org%00.evil.example.net"sv,
                       "example.org\0.example.net"sv,
                       "example.org\r\nHost: x"sv,
                       "example.org\n"sv,
                       "example.org "sv,
                       " example.org"sv,
                       "example .org"sv,
                       "ex\tample.org"sv,
                       "\xef\xbd\x85xample.org"sv,
                       "example\xe3\x80\x82org"sv,
                       "b\xc3\xbc"
                       "cher.example.org"sv,
                       "user@example.org"sv,
                       "example.org/"sv,
                       "example.org#"sv,
                       "example.org?x"sv,
                       "example.org\\x"sv,
                       "*.example.org"sv,
                       "example,org"sv,
                       "example.org\x7f"sv,
                       "example\xe2\x80\x8b.org"sv})
    EXPECT_TRUE(is_refused(spelled, "is not a host name")) << spelled;
}

TEST(SandboxNetworkHostName, TheRefusalRepeatsNoControlBytes) {
  using namespace std::string_view_literals;
  auto r = canonical_host("evil\x1b]0;title\x07\r\n.example.org"sv);
  ASSERT_FALSE(r);
  for (char c : r.failed().text)
    EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

TEST(SandboxNetworkHostName, NamesThatAreNotPublicAreRefused) {
  EXPECT_TRUE(is_refused("intranet", "single label"));
  EXPECT_TRUE(is_refused("org.", "single label"));
  for (auto name :
       {"localhost", "localhost.", "LOCALHOST", "x.localhost", "printer.local",
        "metadata.google.internal", "router.home.arpa", "1.0.0.127.in-addr.arpa", "abc.onion",
        "x.invalid", "x.test", "x.example", "localhost.localdomain", "x.alt"})
    EXPECT_TRUE(is_refused(name, "special-use")) << name;
}

TEST(SandboxNetworkHostName, WhatARefusedAuthorityNames) {
  using parts = std::pair<std::string_view, std::uint16_t>;
  EXPECT_EQ(spelled_parts("intranet:8443"), parts("intranet", 8443));
  EXPECT_EQ(spelled_parts("intranet", 80), parts("intranet", 80));
  EXPECT_EQ(spelled_parts("intranet"), parts("intranet", 0));
  EXPECT_EQ(spelled_parts("[::1]:443"), parts("::1", 443));
  EXPECT_EQ(spelled_parts("[::1]", 80), parts("::1", 80));
  EXPECT_EQ(spelled_parts("fe80::1"), parts("fe80::1", 0));
  EXPECT_EQ(spelled_parts("a:b:1"), parts("a:b:1", 0));
  EXPECT_EQ(spelled_parts("a:0080"), parts("a:0080", 0));
  EXPECT_EQ(spelled_parts("a:"), parts("a:", 0));
  EXPECT_EQ(spelled_parts("[:1"), parts("[", 1));
  EXPECT_EQ(spelled_parts("["), parts("[", 0));
  EXPECT_EQ(spelled_parts(""), parts("", 0));
}

TEST(SandboxNetworkHostName, ShapeAndLength) {
  const std::string label(63, 'a');
  EXPECT_EQ(canonical(label + ".org"), label + ".org");
  EXPECT_TRUE(is_refused(label + "a.org", "63"));
  const std::string longest =
      label + '.' + label + '.' + label + '.' + std::string(57, 'b') + ".org";
  EXPECT_EQ(longest.size(), 253u);
  EXPECT_EQ(canonical(longest), longest);
  EXPECT_EQ(canonical(longest + '.'), longest);
  EXPECT_TRUE(is_refused("a" + longest, "253"));
  EXPECT_TRUE(is_refused("", "empty"));
  EXPECT_TRUE(is_refused(".", "empty"));
  EXPECT_TRUE(is_refused(".example.org", "empty label"));
  EXPECT_TRUE(is_refused("example..org", "empty label"));
  EXPECT_TRUE(is_refused("example.org..", "empty label"));
  EXPECT_TRUE(is_refused("-a.org", "'-'"));
  EXPECT_TRUE(is_refused("a-.org", "'-'"));
}

TEST(SandboxNetworkHostName, ALabelsMustBeHonest) {
  for (auto good : {"xn--bcher-kva", "xn--fsqu00a", "xn--0zwm56d", "xn--maana-pta", "xn--p1ai",
                    "xn--strae-oqa", "xn--mgbaam7a8h", "xn--ls8h"})
    EXPECT_TRUE(is_valid_a_label(good)) << good;
  for (auto bad : {
           "xn--",             // nothing
           "xn--abc-",         // plain ASCII in disguise
           "xn--example-",     //
           "xn--a",            // decodes to a control character
           "xn--99999999999",  // overflow
           "xn--bcher-kv",     // cut
           "xn--bcher-kva9",   // padded
           "xn--xample-hy68a", // a full-width e
           "xn--ab-r13a",      // an ideographic full stop
           "xn--ab-g1t",       // a zero-width space
           "xn--ab-g4t",       // right-to-left override
           "xn--ber-ska",      // a capital letter
           "xn--a-h411m",      // a tag character
       })
    EXPECT_FALSE(is_valid_a_label(bad)) << bad;
  EXPECT_TRUE(decode_a_label("xn--bcher-kva") == U"b\u00fccher");
  EXPECT_TRUE(is_refused("xn--abc-.example.org", "'-'"));
  EXPECT_TRUE(is_refused("xn--99999999999.example.org", "IDNA"));
}

TEST(SandboxNetworkHostName, PortsAreDecimalAndInRange) {
  EXPECT_EQ(*parse_port("1"), 1);
  EXPECT_EQ(*parse_port("65535"), 65535);
  for (auto bad : {"", "0", "65536", "99999", "100000", "-1", "+80", " 80", "80 ", "0x50", "080",
                   "8o", "4294967376"})
    EXPECT_FALSE(parse_port(bad)) << bad;
}

TEST(SandboxNetworkHostName, Authorities) {
  auto text = [](std::string_view a, std::uint16_t port = 0) {
    auto r = parse_authority(a, port);
    return r ? to_text(*r) : "refused: " + r.failed().text;
  };
  EXPECT_EQ(text("Example.ORG.:443"), "example.org:443");
  EXPECT_EQ(text("example.org", 80), "example.org:80");
  EXPECT_EQ(text("example.org:8080", 80), "example.org:8080");
  EXPECT_EQ(text("example.org"), "refused: 'example.org' has no port");
  EXPECT_NE(text("example.org:", 80).find("no port after the colon"), std::string::npos);
  EXPECT_NE(text("example.org:70000").find("not a port"), std::string::npos);
  EXPECT_NE(text("user:pw@example.org:443").find("user information"), std::string::npos);
  EXPECT_NE(text("example.org@evil.example.net:443").find("user information"), std::string::npos);
  EXPECT_NE(text("[::1]:443").find("IP address"), std::string::npos);
  EXPECT_NE(text("::1").find("IP address"), std::string::npos);
  EXPECT_NE(text("127.0.0.1:22").find("IP address"), std::string::npos);
  EXPECT_NE(text("a:b:443").find("IP address"), std::string::npos);
  EXPECT_NE(text("").find("empty"), std::string::npos);
  EXPECT_NE(text(":443").find("empty"), std::string::npos);
}

} // namespace
