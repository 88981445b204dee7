#include "sandbox/network/address.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace piorch::sandbox::network;
namespace ip = boost::asio::ip;

address_class kind(const char* text, std::vector<ip::address> own = {}) {
  return judge(ip::make_address(text), own).kind;
}

TEST(SandboxNetworkAddress, WhatIsNeverDialled) {
  for (auto a : {"127.0.0.1",     "127.255.255.254", "0.0.0.0",       "0.1.2.3",
                 "169.254.1.1",   "169.254.169.254", "169.254.170.2", "100.100.100.200",
                 "168.63.129.16", "192.0.0.192",     "224.0.0.1",     "239.255.255.255",
                 "240.0.0.1",     "255.255.255.255", "192.0.0.8",     "::",
                 "::1",           "fe80::1",         "febf::1",       "fec0::1",
                 "ff02::1",       "100::1",          "fd00:ec2::23",  "fd00:42::42"})
    EXPECT_EQ(kind(a), address_class::forbidden) << a;
}

TEST(SandboxNetworkAddress, ForbiddenOnesInEveryWrapping) {
  for (auto a : {
           "::ffff:127.0.0.1",
           "::ffff:169.254.169.254",
           "::ffff:0.0.0.0", // mapped
           "::127.0.0.1",
           "::169.254.169.254",
           "::0.0.0.2",          // compatible
           "::ffff:0:127.0.0.1", // translated
           "64:ff9b::127.0.0.1",
           "64:ff9b::a9fe:a9fe",
           "64:ff9b::224.0.0.1", // NAT64
           "64:ff9b:1::127.0.0.1",
           "64:ff9b:1::a9fe:a9fe",
           "64:ff9b:1:7f00:0:100::", // NAT64, the address behind a /48 (RFC 6052)
           "2002:7f00:1::",
           "2002:a9fe:a9fe::1",
           "2002:0:0::",                 // 6to4
           "2001:0:0:0:0:0:80ff:fffe",   // Teredo: 127.0.0.1 with all bits turned
           "2001:0:c000:201::5601:5601", // Teredo: 169.254.169.254
           "2001:db8::5efe:127.0.0.1",
           "2001:db8::200:5efe:127.0.0.1", // ISATAP
       })
    EXPECT_EQ(kind(a), address_class::forbidden) << a;
}

TEST(SandboxNetworkAddress, IntranetRangesAndTheirWrappings) {
  for (auto a :
       {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "100.127.255.255", "198.18.0.1", "198.19.255.255", "fc00::1", "fd12:3456::1",
        "::ffff:10.0.0.1", "64:ff9b::192.168.1.1", "2002:a00:1::1", "64:ff9b:1::10.0.0.1"})
    EXPECT_EQ(kind(a), address_class::intranet) << a;
}

TEST(SandboxNetworkAddress, PublicOnesIncludingDocumentation) {
  for (auto a : {"1.1.1.1",     "9.255.255.255",    "11.0.0.0",           "172.15.255.255",
                 "172.32.0.0",  "192.167.255.255",  "100.63.255.255",     "100.128.0.0",
                 "169.253.0.1", "126.255.255.255",  "128.0.0.1",          "223.255.255.255",
                 "192.0.2.1",   "198.51.100.7",     "203.0.113.9",        "2001:db8::1",
                 "2600::1",     "::ffff:192.0.2.1", "64:ff9b::192.0.2.1", "2002:c000:201::1"})
    EXPECT_EQ(kind(a), address_class::open) << a;
}

TEST(SandboxNetworkAddress, AddressesOfThisHostWhateverTheirRange) {
  const std::vector<ip::address> own = {ip::make_address("192.0.2.10"),
                                        ip::make_address("10.1.1.1"),
                                        ip::make_address("2001:db8::10")};
  for (auto a : {"192.0.2.10", "10.1.1.1", "2001:db8::10", "::ffff:192.0.2.10", "64:ff9b::10.1.1.1",
                 "2002:c000:20a::1"})
    EXPECT_EQ(kind(a, own), address_class::forbidden) << a;
  EXPECT_EQ(kind("192.0.2.11", own), address_class::open);
  EXPECT_EQ(kind("2001:db8::11", own), address_class::open);
}

TEST(SandboxNetworkAddress, AScopeDoesNotMakeAnotherHost) {
  EXPECT_EQ(judge(ip::make_address_v6("2001:db8::10%1"), {ip::make_address("2001:db8::10")}).kind,
            address_class::forbidden);
  EXPECT_EQ(judge(ip::make_address_v6("fe80::1%1"), {}).kind, address_class::forbidden);
}

} // namespace
