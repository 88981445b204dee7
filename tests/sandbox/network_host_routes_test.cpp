#include "sandbox/network/host_routes.hpp"

#include "tests/support/network_world.hpp"

#include <sys/resource.h>

namespace {

using namespace piorch;
using namespace piorch::test;
namespace ip = boost::asio::ip;

class SandboxNetworkHostRoutes : public network_world {
public:
  bool ours(const std::string& address) {
    return host->in([&] {
      const auto found = net::host_routes().on_this_host({ip::make_address(address)});
      EXPECT_TRUE(found) << address;
      return found && found->size() == 1;
    });
  }
};

TEST_F(SandboxNetworkHostRoutes, WhateverTheKernelDeliversToThisHost) {
  host->ip("addr add 192.0.2.2/24 dev host0"); // a second address has the first as its source
  host->ip("addr add 198.51.100.1/32 dev lo");
  host->ip("route add local 203.0.113.0/24 dev lo"); // no interface has one of these
  host->ip("-6 route add local 2001:db8:1::/48 dev lo");
  for (auto a : {"127.0.0.1", "127.1.2.3", "192.0.2.1", "192.0.2.2", "198.51.100.1", "203.0.113.77",
                 "192.0.2.255", "::1", "2001:db8::1", "2001:db8:1::7"})
    EXPECT_TRUE(ours(a)) << a;
}

TEST_F(SandboxNetworkHostRoutes, OthersAreNotWithOrWithoutARoute) {
  host->ip("route add unreachable 198.51.100.0/24");
  host->ip("route add blackhole 203.0.113.0/25");
  host->ip("route add prohibit 203.0.113.128/26");
  host->ip("route add throw 203.0.113.192/26");
  host->ip("-6 route add unreachable 2001:db8:1::/48");
  host->ip("-6 route add blackhole 2001:db8:2::/48");
  host->ip("-6 route add prohibit 2001:db8:3::/48");
  host->ip("-6 route add throw 2001:db8:4::/48");
  host->ip("route del default");
  for (auto a : {"192.0.2.80", "198.51.100.7", "203.0.113.7", "203.0.113.129", "203.0.113.200",
                 "8.8.8.8", "2001:db8::80", "2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1",
                 "2001:db8:4::1", "2001:db9::1"})
    EXPECT_FALSE(ours(a)) << a;
}

// The kernel cannot be made to fail on demand: what its answers mean.
TEST_F(SandboxNetworkHostRoutes, OnlyThatThereIsNoRouteMeansThat) {
  for (int no_route : {ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EOPNOTSUPP, EAFNOSUPPORT})
    EXPECT_TRUE(net::means_no_route(no_route)) << no_route;
  for (int failure : {ENOBUFS, ENOMEM, EPERM, 0})
    EXPECT_FALSE(net::means_no_route(failure)) << failure;
}

TEST_F(SandboxNetworkHostRoutes, EachOfManyIsToldApart) {
  std::vector<ip::address> many;
  for (int i = 1; i < 255; ++i)
    many.push_back(ip::make_address("192.0.2." + std::to_string(i)));
  host->in([&] {
    const auto found = net::host_routes().on_this_host(many);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, std::vector<ip::address>{ip::make_address("192.0.2.1")});
  });
}

TEST_F(SandboxNetworkHostRoutes, AskedAgainAndAgainTheAnswerIsTodays) {
  host->in([&] {
    net::host_routes routes;
    const std::vector<ip::address> one{ip::make_address("198.51.100.9")};
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(routes.on_this_host(one)->empty());
      host->ip("addr add 198.51.100.9/32 dev lo");
      EXPECT_EQ(*routes.on_this_host(one), one);
      host->ip("addr del 198.51.100.9/32 dev lo");
    }
  });
}

TEST_F(SandboxNetworkHostRoutes, WithoutDescriptorsNothingIsTold) {
  host->in([&] {
    rlimit before;
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const bool told =
        static_cast<bool>(net::host_routes().on_this_host({ip::make_address("192.0.2.80")}));
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_FALSE(told);
  });
}

} // namespace
