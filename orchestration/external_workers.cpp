#include "orchestration/external_workers.hpp"

#include "orchestration/file.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace piorch::orchestration {

namespace {

using state_type = external_worker::state_type;

// What somebody who wants a worker to end sends it.
constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP};

// Absolute, without "." and "..".
bool is_normal(const std::string& path) {
  if (path.empty() || path[0] != '/')
    return false;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at + 1), path.size());
    const auto name = std::string_view(path).substr(at + 1, end - at - 1);
    if (name == "." || name == "..")
      return false;
    at = end;
  }
  return true;
}

state_type state_of(const external_exit& how) {
  if (!how.exit_code && !how.signal)
    return state_type::failed;
  if (how.signal == 0 || !how.signal) {
    if (how.exit_code == 0)
      return state_type::completed;
    const bool stopped = std::any_of(stop_signals.begin(), stop_signals.end(),
                                     [&](int n) { return how.exit_code == 128 + n; });
    return stopped ? state_type::stopped : state_type::failed;
  }
  const bool stopped =
      std::find(stop_signals.begin(), stop_signals.end(), *how.signal) != stop_signals.end();
  return stopped ? state_type::stopped : state_type::failed;
}

void remember(std::set<std::string>& known, std::deque<std::string>& order, const std::string& id,
              std::size_t most) {
  known.insert(id);
  order.push_back(id);
  if (order.size() > most) {
    known.erase(order.front());
    order.pop_front();
  }
}

} // namespace

const char* name_of(state_type state) {
  switch (state) {
    case state_type::running:
      return "running";
    case state_type::completed:
      return "completed";
    case state_type::failed:
      return "failed";
    case state_type::stopped:
      return "stopped";
  }
  return "failed";
}

external_workers::external_workers(std::string project, std::vector<std::string> worktrees)
    : project_(std::move(project)), worktrees_(std::move(worktrees)) {}

bool external_workers::take_frame_id(const std::string& id) {
  if (ids_.count(id) != 0)
    return false;
  remember(ids_, id_order_, id, ids_kept);
  return true;
}

bool external_workers::may_work_in(const std::string& cwd) const {
  if (!is_normal(cwd)) // it is compared as text
    return false;
  if (is_inside(cwd, project_))
    return true;
  return std::any_of(worktrees_.begin(), worktrees_.end(), [&](const std::string& place) {
    const std::string start = place + "/pi-worktree-";
    return cwd.size() > start.size() && cwd.compare(0, start.size(), start) == 0;
  });
}

result<done> external_workers::check(const external_worker& worker, std::uint64_t link) const {
  if (active_.count(worker.id) != 0 || ended_.count(worker.id) != 0)
    return error{failure::usage, "a worker of this id was here before"};
  if (!may_work_in(worker.cwd))
    return error{failure::usage, "workers of this session run in " + project_ +
                                     " and in worktrees that pi-subagents makes of it, not in " +
                                     worker.cwd.substr(0, 300)};
  if (active_.size() >= active_max)
    return error{failure::limit_reached,
                 "there are " + std::to_string(active_max) + " workers already"};
  if (worker.parent.empty())
    return done{};
  const auto lead = active_.find(worker.parent);
  if (lead == active_.end() || lead->second.link != link || !lead->second.worker.parent.empty())
    return error{failure::usage, "the worker that started it is not known here"};
  const auto nested = std::count_if(active_.begin(), active_.end(), [&](const auto& one) {
    return one.second.worker.parent == worker.parent;
  });
  if (static_cast<std::size_t>(nested) >= nested_max)
    return error{failure::limit_reached,
                 "there are " + std::to_string(nested_max) + " workers in this sandbox already"};
  return done{};
}

result<done> external_workers::add(external_worker worker, std::uint64_t link, bool leased,
                                   instant now) {
  if (auto good = check(worker, link); !good)
    return good;
  worker.state = state_type::running;
  worker.started_at = now;
  ++added_;
  const std::string id = worker.id;
  active_.emplace(id, entry{std::move(worker), link, leased});
  return done{};
}

const external_worker* external_workers::question(const std::string& id, const std::string& cwd) {
  const auto at = active_.find(id);
  if (at == active_.end() || at->second.worker.cwd != cwd)
    return nullptr;
  ++at->second.worker.questions;
  return &at->second.worker;
}

std::vector<external_worker> external_workers::finish(const std::string& id,
                                                      const external_exit& how, instant now) {
  std::vector<external_worker> out;
  const auto node = active_.extract(id);
  if (node.empty())
    return out;
  auto& worker = node.mapped().worker;
  worker.state = state_of(how);
  worker.ended_at = now;
  worker.exit = how;
  remember(ended_, ended_order_, id, ended_kept);
  out.push_back(std::move(worker));
  std::vector<std::string> nested;
  for (const auto& [other, e] : active_)
    if (e.worker.parent == id)
      nested.push_back(other);
  for (const auto& one : nested) {
    const external_exit with_lead{std::nullopt, SIGTERM,
                                  "it ended with the worker that started it"};
    auto ended = finish(one, with_lead, now);
    out.insert(out.end(), std::make_move_iterator(ended.begin()),
               std::make_move_iterator(ended.end()));
  }
  return out;
}

std::vector<external_worker> external_workers::end(const std::string& id, const std::string& cwd,
                                                   const external_exit& how, instant now) {
  const auto at = active_.find(id);
  if (at == active_.end() || at->second.worker.cwd != cwd)
    return {};
  return finish(id, how, now);
}

std::vector<external_worker> external_workers::link_closed(std::uint64_t link, instant now) {
  std::vector<std::string> gone;
  for (const auto& [id, e] : active_)
    if (e.leased && e.link == link && e.worker.parent.empty())
      gone.push_back(id);
  std::vector<external_worker> out;
  for (const auto& id : gone) {
    auto ended = finish(id, {std::nullopt, std::nullopt, "its wrapper was killed"}, now);
    out.insert(out.end(), std::make_move_iterator(ended.begin()),
               std::make_move_iterator(ended.end()));
  }
  return out;
}

} // namespace piorch::orchestration
