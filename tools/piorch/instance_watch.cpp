#include "tools/piorch/instance_watch.hpp"

#include "tools/piorch/instances.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sys/inotify.h>
#include <unistd.h>

namespace piorch::cli {

using clock = ipc::client::clock;

instance_watch::instance_watch(const ipc::instance_directory& directory, std::vector<list> lists,
                               std::function<void(instance)> lost, answers approvals)
    : directory_(directory), lists_(std::move(lists)), lost_(std::move(lost)),
      approvals_(approvals) {}

// An orchestrator touches its socket when it can be reached.
result<done> instance_watch::begin() {
  births_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!births_ || ::inotify_add_watch(births_.get(), directory_.path().c_str(), IN_ATTRIB) < 0)
    return error{failure::fault, "cannot watch " + directory_.path() + ": " + std::strerror(errno)};
  return done{};
}

void instance_watch::look(std::vector<ipc::connected> there) {
  for (auto& one : there)
    add(std::move(one));
  for (auto& one : live_instances(directory_, approvals_))
    add(std::move(one));
  drop_lost();
}

// The whole of each list now, so that whoever looks once has it.
void instance_watch::add(ipc::connected there) {
  const auto known = [&](const place& p) { return p.at.server.pid == there.server.pid; };
  if (std::any_of(places_.begin(), places_.end(), known))
    return;
  place p{std::move(there), {}, false};
  p.asked.resize(lists_.size());
  for (std::size_t i = 0; i < lists_.size() && !p.lost; ++i) {
    const auto answer = p.at.peer.call(lists_[i].ask({}), instance_answer_time);
    const auto revision =
        answer ? lists_[i].take(p.at.server.pid, *answer) : result<std::uint64_t>(answer.failed());
    p.lost = !revision;
    if (revision && births_)
      ask(p, i, *revision);
  }
  places_.push_back(std::move(p));
}

void instance_watch::ask(place& p, std::size_t which, std::optional<std::uint64_t> after) {
  p.asked[which] = p.at.peer.request(lists_[which].ask(after));
  p.lost = p.lost || !p.at.peer.flush(clock::now() + instance_answer_time);
}

void instance_watch::ask_again() {
  for (auto& p : places_)
    for (std::size_t i = 0; i < lists_.size(); ++i)
      ask(p, i, {});
}

// Whether it was an answer that we wait for. The next question goes out at once.
bool instance_watch::take(place& p, ipc::rpc_message& message) {
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    const auto answer = ipc::client::answer_to(p.asked[i].value_or(0), message);
    if (!answer)
      continue;
    const auto revision = *answer ? lists_[i].take(p.at.server.pid, **answer)
                                  : result<std::uint64_t>(answer->failed());
    if (revision)
      ask(p, i, *revision);
    else
      p.lost = true;
    return true;
  }
  return false;
}

void instance_watch::drop_lost() {
  for (const auto& p : places_)
    if (p.lost)
      lost_(p.at.server.pid);
  places_.erase(
      std::remove_if(places_.begin(), places_.end(), [](const place& p) { return p.lost; }),
      places_.end());
}

instance_watch::event instance_watch::wait(std::optional<clock::time_point> until,
                                           const std::vector<int>& wake) {
  for (;;) {
    std::vector<ipc::client*> peers;
    for (auto& p : places_)
      peers.push_back(&p.at.peer);
    // Of stdout only errors and hang-ups are of interest.
    std::vector<pollfd> others{{births_.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    for (const int fd : wake)
      others.push_back({fd, POLLIN, 0});
    auto in = ipc::client::receive_any(peers, until, others);
    if (in.index < places_.size()) {
      auto& p = places_[in.index];
      p.lost = !in.what;
      const bool news = p.lost || take(p, in.what->message);
      drop_lost();
      if (news)
        return event::news;
    } else if (!in.what || in.what->what == ipc::client::incoming::kind::too_late) {
      return event::too_late;
    } else if (in.index > places_.size() + 1) {
      return event::woken;
    } else if (in.index > places_.size()) {
      return event::closed;
    } else {
      char names[4096];
      while (::read(births_.get(), names, sizeof names) > 0) {
      }
      look({});
      return event::news;
    }
  }
}

} // namespace piorch::cli
