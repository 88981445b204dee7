#include "actors/keeper.hpp"

namespace piorch::actors {

namespace {
constexpr span sessions_end_within = std::chrono::seconds(10);
constexpr span counted_within = std::chrono::seconds(10);
} // namespace

void keeper_state::begin(keeper_options options) {
  options_ = std::move(options);
  changed();
}

void keeper_state::on_client(const watch_client& c) {
  clients_.insert(c.client);
  ++changes_;
  watches_.add(self_, c.client, [this, client = c.client, last = c.is_private](const caf::error&) {
    clients_.erase(client);
    changed();
    if (last)
      on_end_and_leave();
  });
  if (left_) // it came as we were going
    tell(self_, caf::actor_cast<client_handle>(c.client), close_client{});
}

void keeper_state::on_end_and_leave() {
  ask(self_, sessions_end_within * 2, keeper_handle(self_), end_everything{})
      .then([this](const done&) { on_leave(); }, [this](const caf::error&) { on_leave(); });
}

void keeper_state::on_command(const caf::actor& command) {
  commands_.insert(command);
  watches_.add(self_, command, [this, command](const caf::error&) {
    commands_.erase(command);
    changed();
    answer_if_ended();
  });
  if (ending_)
    tell(self_, caf::actor_cast<command_handle>(command), cancel_command{});
}

// Counts the time from here, if nobody is there.
void keeper_state::changed() {
  ++changes_;
  if (options_.idle_limit.count() > 0 && clients_.empty() && commands_.empty())
    tell_later(self_, options_.idle_limit, keeper_handle(self_), idle_over{changes_});
}

void keeper_state::on_idle_over(std::uint64_t since) {
  if (since != changes_ || ending_)
    return; // something happened meanwhile
  if (!options_.supervisor)
    return on_leave();
  ask(self_, counted_within, options_.supervisor, count_live{})
      .then(
          [this, since](const live_count& live) {
            if (since != changes_)
              return;
            if (live.sessions == 0)
              on_leave();
            else
              changed();
          },
          [this](const caf::error&) { changed(); });
}

caf::result<done> keeper_state::on_end() {
  auto answer = self_->make_response_promise<done>();
  waiting_.push_back(answer);
  if (!std::exchange(ending_, true)) {
    end_commands();
    sessions_ended_ = !options_.supervisor;
    if (options_.supervisor) {
      const auto ended = [this] {
        sessions_ended_ = true;
        answer_if_ended();
      };
      ask(self_, sessions_end_within, options_.supervisor, stop_all{})
          .then([ended](const done&) { ended(); }, [ended](const caf::error&) { ended(); });
    }
  }
  answer_if_ended();
  return answer;
}

void keeper_state::end_commands() {
  for (const auto& command : commands_)
    tell(self_, caf::actor_cast<command_handle>(command), cancel_command{});
}

void keeper_state::answer_if_ended() {
  if (!ending_ || !sessions_ended_ || !commands_.empty())
    return;
  for (auto& answer : waiting_)
    answer.deliver(done{});
  waiting_.clear();
}

void keeper_state::on_leave() {
  left_ = true;
  for (const auto& client : clients_)
    tell(self_, caf::actor_cast<client_handle>(client), close_client{});
  options_.end();
}

keeper_handle::behavior_type keeper_actor(keeper_state::pointer self, keeper_options options) {
  harden(self);
  state(self).begin(std::move(options));
  return {
      [=](const watch_client& c) { state(self).on_client(c); },
      [=](const watch_command& c) { state(self).on_command(c.command); },
      [=](const end_everything&) { return state(self).on_end(); },
      [=](const end_and_leave&) { state(self).on_end_and_leave(); },
      [=](const leave&) { state(self).on_leave(); },
      [=](const idle_over& idle) { state(self).on_idle_over(idle.since); },
  };
}

} // namespace piorch::actors
