#include "sandbox/network/core.hpp"

#include "config/network_limits.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <sys/resource.h>
#include <utility>

namespace piorch::sandbox::network {
namespace {

// Two descriptors a connection, some for everything else.
std::size_t connections_that_fit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return limits::proxy_connections;
  constexpr std::size_t reserved = 128;
  const auto most = static_cast<std::size_t>(limit.rlim_cur);
  const std::size_t fit = most > reserved + 32 ? (most - reserved) / 2 : 16;
  return std::min(fit, limits::proxy_connections);
}

} // namespace

connection::connection(std::shared_ptr<core> shared) : shared_(std::move(shared)) {
  shared_->join(this);
}
connection::~connection() { shared_->leave(this); }

core::core(boost::asio::io_context& context, gateway_options options, gateway_events e)
    : io(context), events(std::move(e)), times(options.times), policy(std::move(options.rules)),
      names(context, std::move(options.names)),
      relays(std::make_shared<relay_resources>(times.half_closed)), last_bytes_(context),
      connections_max_(options.connections != 0 ? options.connections : connections_that_fit()) {}

void core::report(const std::string& host, std::uint16_t port, bool allowed, std::string from) {
  network_event e{host, port, allowed ? "allow" : "deny", std::move(from)};
  if (seen.add(e) && events.event)
    events.event(e);
}

void core::finish(std::function<void()> done) {
  events = {};
  relays->finishing = true;
  const std::vector<relay*> all(relays->live.begin(), relays->live.end());
  for (auto* r : all)
    if (relays->live.count(r) != 0)
      r->finish();
  if (relays->live.empty() && relays->coming == 0)
    return done();
  finished_ = std::move(done);
  // Through the loop: whoever is called may end us, and a relay is still at it.
  relays->on_rest = [weak = weak_from_this(), &context = io] {
    boost::asio::post(context, [weak] {
      if (auto self = weak.lock())
        self->finished();
    });
  };
  last_bytes_.expires_after(limits::last_bytes_time);
  last_bytes_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    if (auto self = weak.lock(); self && !ec)
      self->finished();
  });
}

void core::finished() {
  last_bytes_.cancel();
  if (auto f = std::exchange(finished_, nullptr))
    f();
}

void core::stop() {
  events = {};
  finished_ = nullptr;
  relays->on_rest = nullptr;
  last_bytes_.cancel();
  const std::vector<connection*> all(live_.begin(), live_.end());
  for (auto* c : all)
    if (live_.count(c) != 0) // one may have taken another with it
      c->abort();
}

} // namespace piorch::sandbox::network
