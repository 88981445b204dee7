// The one place that names CAF calls whose spelling differs between 0.17.6
// (Debian, Ubuntu) and 1.x. Actors use these and otherwise plain CAF.
#pragma once

#include <caf/all.hpp>
// CAF_VERSION can't be compared: 1706 in 0.17.6, but 0100 (octal!) in 1.1.0.
// CAF_VERSION_MAJOR exists only in the newer line.
#ifdef CAF_VERSION_MAJOR
#define PIORCH_CAF_OLD 0
#include <caf/init_global_meta_objects.hpp>
#else
#define PIORCH_CAF_OLD 1
#endif

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace piorch::actors {

using span = caf::timespan; // 0.17 has caf::duration as well; never use it

// Call before the first actor_system_config exists.
template <class IdBlock> void register_messages() {
#if !PIORCH_CAF_OLD
  caf::init_global_meta_objects<IdBlock>();
  caf::core::init_global_meta_objects();
#endif
}

// Few threads, no idle wake-ups, no log files, no config file of CAF's own.
inline void configure(caf::actor_system_config& cfg, size_t workers) {
#if PIORCH_CAF_OLD
  cfg.set("scheduler.policy", caf::atom("sharing"));
  cfg.set("scheduler.max-threads", workers);
#else
  cfg.set("caf.scheduler.policy", "sharing");
  cfg.set("caf.scheduler.max-threads", workers);
#endif
}

template <class Self> auto& state(Self* self) {
#if PIORCH_CAF_OLD
  return self->state;
#else
  return self->state();
#endif
}

// tell: one-way. tell_later: one-way after a delay. ask: with an answer.
// From any thread.
template <class Dest, class... Ts, std::enable_if_t<!std::is_pointer_v<Dest>, int> = 0>
void tell(const Dest& dest, Ts&&... xs) {
#if PIORCH_CAF_OLD
  caf::anon_send(dest, std::forward<Ts>(xs)...);
#else
  caf::anon_mail(std::forward<Ts>(xs)...).send(dest);
#endif
}
template <class Self, class Dest, class... Ts> void tell(Self* self, const Dest& dest, Ts&&... xs) {
#if PIORCH_CAF_OLD
  self->send(dest, std::forward<Ts>(xs)...);
#else
  self->mail(std::forward<Ts>(xs)...).send(dest);
#endif
}
template <class Self, class Dest, class... Ts>
void tell_later(Self* self, span delay, const Dest& dest, Ts&&... xs) {
#if PIORCH_CAF_OLD
  self->delayed_send(dest, delay, std::forward<Ts>(xs)...);
#else
  self->mail(std::forward<Ts>(xs)...).delay(delay).send(dest);
#endif
}
template <class Self, class Dest, class... Ts>
auto ask(Self* self, span limit, const Dest& dest, Ts&&... xs) {
#if PIORCH_CAF_OLD
  return self->request(dest, limit, std::forward<Ts>(xs)...);
#else
  return self->mail(std::forward<Ts>(xs)...).request(dest, limit);
#endif
}

// watch: run fn(reason) in self's context when `who` ends. In 0.17 there is
// one down handler per actor, so the callbacks are kept in a table by address.
#if PIORCH_CAF_OLD
class watches {
public:
  template <class Self, class Handle>
  void add(Self* self, const Handle& who, std::function<void(const caf::error&)> fn) {
    self->set_down_handler([this](caf::down_msg& dm) {
      // Taken out first: a callback may watch somebody else.
      for (auto i = fns_.find(dm.source); i != fns_.end(); i = fns_.find(dm.source)) {
        auto f = std::move(i->second);
        fns_.erase(i);
        f(dm.reason);
      }
    });
    fns_.emplace(who->address(), std::move(fn));
    self->monitor(who);
  }

private:
  std::multimap<caf::actor_addr, std::function<void(const caf::error&)>> fns_;
};
#else
class watches {
public:
  template <class Self, class Handle>
  void add(Self* self, const Handle& who, std::function<void(const caf::error&)> fn) {
    self->monitor(who, [fn = std::move(fn)](const caf::error& e) { fn(e); });
  }
};
#endif

// For every actor: an exception ends it with an error that its monitors see, and
// an unexpected message is dropped. Without this CAF prints to stdout.
template <class Self> void harden(Self* self) {
#if PIORCH_CAF_OLD
  self->set_exception_handler(
      [](std::exception_ptr&) -> caf::error { return caf::sec::runtime_error; });
  self->set_default_handler(
      [](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
        return caf::sec::unexpected_message;
      });
#else
  self->set_exception_handler(
      [](std::exception_ptr&) { return caf::error{caf::sec::runtime_error}; });
#endif
}

inline std::string text(const caf::actor_system& sys, const caf::error& e) {
#if PIORCH_CAF_OLD
  return sys.render(e);
#else
  (void)sys;
  return to_string(e);
#endif
}

} // namespace piorch::actors

#if !PIORCH_CAF_OLD
namespace caf { // the 0.17 spelling of typed interfaces
template <class... Is> struct replies_to {
  template <class... Os> using with = result<Os...>(Is...);
};
template <class... Is> using reacts_to = result<void>(Is...);
} // namespace caf
#endif
