#include "sandbox/network/resolver.hpp"

#include "config/network_limits.hpp"
#include "sandbox/network/dns_lookup.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

resolver::resolver(asio::io_context& io, resolver_options options)
    : io_(io), options_(std::move(options)), resolv_conf_(options_.resolv_conf),
      hosts_file_(options_.hosts) {}

resolver::~resolver() {
  for (auto& [host, w] : in_flight_)
    w.work->cancel();
}

resolver::ticket resolver::resolve(const std::string& host, handler done) {
  auto mine = std::make_shared<handler>(std::move(done));
  if (hosts_file_.refresh())
    hosts_ = dns::parse_hosts(hosts_file_.content());
  if (resolv_conf_.refresh()) {
    servers_ = dns::parse_resolv_conf(resolv_conf_.content());
    cache_.clear(); // another network, perhaps other answers
  }

  const addresses* known = nullptr;
  if (auto i = hosts_.find(host); i != hosts_.end())
    known = &i->second;
  else if (auto c = cache_.find(host); c != cache_.end() && clock::now() < c->second.until)
    known = &c->second.found;
  if (known) {
    asio::post(io_, [weak = std::weak_ptr<handler>(mine), found = *known]() mutable {
      if (auto waiter = weak.lock())
        (*waiter)(std::move(found));
    });
    return mine;
  }

  if (in_flight_.count(host) == 0 && !make_room()) {
    asio::post(io_, [weak = std::weak_ptr<handler>(mine)] {
      if (auto waiter = weak.lock())
        (*waiter)(error{failure::limit_reached, "too many names are being looked up at once"});
    });
    return mine;
  }
  auto& w = in_flight_[host];
  w.waiters.push_back(mine);
  if (!w.work) {
    w.work = std::make_shared<dns::lookup>(
        io_, host, servers_, options_.server_port,
        [this, host](dns::outcome o) { finish(host, std::move(o.addresses), o.ttl); });
    // Started from the loop, so that nothing calls back from within.
    asio::post(io_, [work = w.work] { work->start(); });
  }
  return mine;
}

// Clients that come and go must not pile up look-ups that nobody waits for:
// each holds a socket for up to limits::dns_time.
bool resolver::make_room() {
  if (in_flight_.size() < limits::dns_lookups)
    return true;
  for (auto i = in_flight_.begin(); i != in_flight_.end();) {
    const auto& waiters = i->second.waiters;
    if (std::all_of(waiters.begin(), waiters.end(), [](auto& w) { return w.expired(); })) {
      i->second.work->cancel();
      i = in_flight_.erase(i);
    } else {
      ++i;
    }
  }
  return in_flight_.size() < limits::dns_lookups;
}

void resolver::finish(const std::string& host, result<addresses> outcome,
                      std::chrono::seconds ttl) {
  auto node = in_flight_.extract(host);
  if (outcome)
    keep(host, *outcome, ttl);
  for (auto& weak : node.mapped().waiters)
    if (auto waiter = weak.lock())
      (*waiter)(outcome);
}

void resolver::keep(const std::string& host, const addresses& found, std::chrono::seconds ttl) {
  if (ttl <= std::chrono::seconds(0))
    return;
  const auto now = clock::now();
  if (cache_.size() >= limits::dns_cache_entries) {
    for (auto i = cache_.begin(); i != cache_.end();)
      i = i->second.until <= now ? cache_.erase(i) : std::next(i);
    if (cache_.size() >= limits::dns_cache_entries)
      cache_.clear(); // rare, and only costs a question
  }
  cache_[host] = {found, now + std::min(ttl, limits::dns_cache_time)};
}

} // namespace piorch::sandbox::network
