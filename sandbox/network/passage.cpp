#include "sandbox/network/passage.hpp"

#include "sandbox/network/address.hpp"
#include "sandbox/network/dialer.hpp"
#include "sandbox/network/socket_options.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace piorch::sandbox::network {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Terse refusals make agents try again by other means; this says that it is
// policy, which, and that no other way leads out.
constexpr const char* no_retry =
    "Do not retry and do not try another way (no direct connection, no other proxy, no IP "
    "address): every connection of this sandbox passes the same check.\n";

// Whom nobody answered may try again as soon as somebody is there.
bool is_answer(const std::string& from) {
  return from != source::nobody && from != source::too_many && from != source::left;
}

std::string policy_text(const std::string& what, const std::string& reason,
                        const std::string& remedy) {
  std::string out =
      "piorch: the connection to " + what + " was refused by the sandbox's network policy.\n";
  out += "Reason: " + reason + ".\n";
  if (!remedy.empty())
    out += remedy + '\n';
  return out + no_retry;
}

} // namespace

refusal refuse_name(core& shared, std::string_view spelled, std::uint16_t port, const error& why) {
  const auto shown = printable(spelled);
  shared.report(shown, port, false, source::host_name);
  return {403, socks::reply::not_allowed,
          policy_text("'" + shown + "'", why.text,
                      "Only public host names can be reached, and a port of this computer only "
                      "if network.allowedLocalPorts (or --allow-local-port) lists it; such a port "
                      "is reached at 127.0.0.1 directly, without the proxy.")};
}

passage::passage(std::shared_ptr<core> shared, destination to, std::string protocol, handler done)
    : shared_(std::move(shared)), to_(std::move(to)), protocol_(std::move(protocol)),
      done_(std::move(done)) {}

void passage::start() {
  asio::post(shared_->io, [self = shared_from_this()] {
    if (self->done_)
      self->judge();
  });
}

void passage::cancel() {
  done_ = nullptr;
  looking_up_.reset();
  if (dialling_)
    dialling_->cancel();
  if (asked_ != 0 && shared_->events.ask_cancelled)
    shared_->events.ask_cancelled(asked_);
  asked_ = 0;
}

void passage::judge() {
  auto d = shared_->policy.judge(to_, decisions::clock::now());
  source_ = d.source;
  switch (d.what) {
    case verdict::allow:
      by_static_rule_ = true;
      return resolve();
    case verdict::deny:
      return deny(d.source, d.reason, d.remedy);
    case verdict::ask:
      return ask();
  }
}

void passage::ask() {
  if (!shared_->events.ask)
    return deny(source::nobody, "no rule allows it and nobody can be asked",
                remedy_for(to_, shared_->policy.rules()));
  asked_ = shared_->next_ask++;
  shared_->events.ask({asked_, to_, protocol_},
                      [weak = weak_from_this(), id = asked_](ask_answer a) {
                        auto self = weak.lock();
                        if (self && self->done_ && self->asked_ == id)
                          self->on_answer(std::move(a));
                      });
}

void passage::on_answer(ask_answer a) {
  asked_ = 0;
  source_ = a.source.empty() ? source::approval : a.source;
  if (a.allow)
    return resolve();
  auto reason = a.reason.empty() ? std::string("it was denied when asked") : a.reason;
  if (is_answer(source_))
    shared_->policy.remember_denial(to_, source_, reason, decisions::clock::now());
  deny(source_, reason, remedy_for(to_, shared_->policy.rules()));
}

void passage::resolve() {
  looking_up_ = shared_->names.resolve(
      to_.host, [weak = weak_from_this()](result<resolver::addresses> found) {
        if (auto self = weak.lock(); self && self->done_)
          self->on_addresses(std::move(found));
      });
}

void passage::on_addresses(result<resolver::addresses> found) {
  if (!found) {
    shared_->report(to_.host, to_.port, true, source_);
    return fail(502, socks::reply::host_unreachable, found.failed().text);
  }
  auto candidates = *found;
  for (const auto& a : *found)
    if (const auto inner = unwrapped(a); inner != a)
      candidates.push_back(inner);
  const auto own = shared_->routes.on_this_host(candidates);
  if (!own)
    return fail(502, socks::reply::general_failure, own.failed().text);
  std::vector<asio::ip::address> fit;
  std::string_view why;
  bool intranet = false;
  for (const auto& a : *found) {
    const auto v = network::judge(a, *own);
    if (v.kind == address_class::open || (v.kind == address_class::intranet && by_static_rule_)) {
      if (std::find(fit.begin(), fit.end(), a) == fit.end())
        fit.push_back(a);
    } else if (why.empty()) {
      why = v.what;
      intranet = v.kind == address_class::intranet;
    }
  }
  if (!fit.empty())
    return dial(in_dialling_order(std::move(fit)));
  std::string reason = "the name leads to ";
  if (why == "an address of this host")
    reason += why;
  else
    reason += "a " + std::string(why) + " address";
  if (intranet)
    return deny(source::address, reason + ", which is dialled only for a host in allowedDomains",
                remedy_for(to_, shared_->policy.rules()));
  deny(source::address, reason + ", which is never dialled", {});
}

void passage::dial(std::vector<asio::ip::address> addresses) {
  shared_->report(to_.host, to_.port, true, source_);
  dialling_ = std::make_shared<dialer>(
      shared_->io, std::move(addresses), to_.port, shared_->times.connect,
      [weak = weak_from_this()](error_code ec, asio::ip::tcp::socket s) {
        auto self = weak.lock();
        if (!self || !self->done_)
          return;
        if (!ec) {
          no_delay(s);
          keep_alive(s);
          self->finish(std::move(s));
        } else if (ec == asio::error::connection_refused) {
          self->fail(502, socks::reply::connection_refused, "the host refused the connection");
        } else if (ec == asio::error::timed_out) {
          self->fail(504, socks::reply::ttl_expired, "the host did not answer in time");
        } else if (ec == asio::error::network_unreachable) {
          self->fail(502, socks::reply::network_unreachable, "the network is unreachable");
        } else if (ec == asio::error::host_unreachable) {
          self->fail(502, socks::reply::host_unreachable, "the host is unreachable");
        } else {
          self->fail(502, socks::reply::general_failure, ec.message());
        }
      });
  dialling_->start();
}

void passage::deny(std::string from, const std::string& reason, const std::string& remedy) {
  shared_->report(to_.host, to_.port, false, std::move(from));
  finish(refusal{403, socks::reply::not_allowed, policy_text(to_text(to_), reason, remedy)});
}

void passage::fail(int status, socks::reply code, std::string what) {
  finish(refusal{status, code,
                 "piorch: " + to_text(to_) +
                     " is allowed but cannot be reached: " + std::move(what) + ".\n"});
}

void passage::finish(outcome o) {
  auto done = std::move(done_);
  done_ = nullptr;
  looking_up_.reset();
  dialling_.reset();
  done(std::move(o));
}

} // namespace piorch::sandbox::network
