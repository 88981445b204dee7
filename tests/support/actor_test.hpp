// A deterministic world for actors: no thread, time stands still until a test
// moves it, and every queued message is handled in order. Built on CAF's test
// coordinator alone.
#pragma once

#include "actors/failures.hpp"
#include "actors/messages.hpp"

#include <caf/detail/test_actor_clock.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace piorch::test {

class actor_test : public ::testing::Test {
protected:
  struct config : caf::actor_system_config {
    config() { set("scheduler.policy", caf::atom("testing")); }
  };

  config cfg;
  caf::actor_system sys{cfg};
  caf::scheduler::test_coordinator& sched =
      dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler());
  caf::scoped_actor self{sys, true};

  actor_test() {
    sched.clock().current_time += std::chrono::hours(1); // 0 means "unset"
  }
  ~actor_test() override { run(); } // or the system waits for ever

  // Handles every queued message; time stands still.
  std::size_t run() {
    std::size_t n = 0;
    while (sched.try_run_once())
      ++n;
    return n;
  }

  // Moves the fake clock, then handles what that woke up.
  void advance(caf::timespan d) {
    sched.advance_time(d);
    run();
  }

  // An answer that may come later.
  template <class T> struct pending {
    std::optional<T> value;
    std::optional<error> failed;
    bool come() const { return value || failed; }
  };

  // Asks as a client of its own, which lives until end_client().
  template <class T, class Handle, class Message>
  std::shared_ptr<pending<T>> ask_later(const Handle& who, Message m,
                                        caf::actor* client = nullptr) {
    auto out = std::make_shared<pending<T>>();
    auto asker = sys.spawn([=, message = std::move(m)](caf::event_based_actor* a) -> caf::behavior {
      a->request(who, caf::infinite, message)
          .then([out](const T& x) { out->value = x; },
                [out, a](const caf::error& e) {
                  out->failed = actors::why(a->system(), e, "actor");
                });
      return {[a](caf::ok_atom) { a->quit(); }};
    });
    clients_.push_back(asker);
    if (client)
      *client = asker;
    run();
    return out;
  }

  void end_client(const caf::actor& client) {
    caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
    run();
  }
  // To be called before the fixture's end.
  void end_clients() {
    for (const auto& c : clients_)
      caf::anon_send_exit(c, caf::exit_reason::kill);
    clients_.clear();
    run();
  }

private:
  std::vector<caf::actor> clients_;
};

} // namespace piorch::test
