#include "actors/sandbox_list.hpp"

#include "tests/support/actor_test.hpp"

namespace piorch::actors {
namespace {

class ActorsSandboxList : public test::actor_test {
protected:
  ~ActorsSandboxList() override {
    self->send_exit(all, caf::exit_reason::user_shutdown);
    self->send_exit(broker, caf::exit_reason::user_shutdown);
  }
  auto list(std::optional<std::uint64_t> after) {
    return ask_later<ipc::command_list_result>(all, ipc::command_list_params{after});
  }

  sandbox_list_handle all = sys.spawn(sandbox_list_actor);
  caf::actor broker = sys.spawn([] { return caf::behavior{[](int) {}}; });
};

// What one client's look has measured is news for the others.
TEST_F(ActorsSandboxList, WhoeverWaitsIsToldOfWhatAnotherOneMeasured) {
  auto active = std::make_shared<std::string>("then");
  sandbox_begun one;
  one.broker = broker;
  one.active_at = [active] { return *active; };
  self->send(all, one);
  run();
  const auto waiting = list(2); // one change since the beginning
  EXPECT_FALSE(waiting->come());
  *active = "now";
  const auto asking = list(std::nullopt);
  ASSERT_TRUE(asking->value);
  ASSERT_TRUE(waiting->value);
  EXPECT_EQ(waiting->value->commands.at(0).active_at, "now");
  EXPECT_EQ(waiting->value->revision, asking->value->revision);
}

} // namespace
} // namespace piorch::actors
