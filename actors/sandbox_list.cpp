#include "actors/sandbox_list.hpp"

#include "actors/failures.hpp"
#include "orchestration/instant.hpp"
#include "orchestration/json_text.hpp"
#include "sandbox/remote_job.hpp"
#include "sandbox/tree_usage.hpp"

#include <atomic>

namespace piorch::actors {

namespace {

constexpr std::chrono::seconds between_measures{1};
constexpr std::size_t shown_command_bytes = 1000;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}
std::string text_of_ms(std::int64_t ms) {
  return orchestration::to_text(orchestration::instant(std::chrono::milliseconds(ms)));
}

} // namespace

void sandbox_list_state::begun(const sandbox_begun& what) {
  const auto number = ++last_number_;
  running_.emplace(number, what);
  watches_.add(self_, what.broker, [this, number](const caf::error&) {
    running_.erase(number);
    changed();
  });
  changed();
}

void sandbox_list_state::command(const command_begun& what) {
  records_.begin(what.id, what.own_id, what.command, what.cwd, text_of_ms(now_ms()));
}

void sandbox_list_state::command(const command_noted& what) {
  if (what.connection)
    records_.note(what.id, *what.connection);
  if (what.refused)
    records_.note(what.id, *what.refused);
}

void sandbox_list_state::command(const command_over& what) {
  records_.end(what.id, text_of_ms(now_ms()));
}

caf::result<ipc::command_report_result>
sandbox_list_state::report(const ipc::command_report_params& what) {
  auto found = records_.find(what.id);
  if (!found)
    return refusal(found.failed());
  return std::move(*found);
}

bool sandbox_list_state::measure() {
  const auto now = std::chrono::steady_clock::now();
  if (now - measured_ < between_measures)
    return false;
  measured_ = now;
  std::set<pid_t> roots;
  for (auto& [number, one] : running_)
    if (const auto pid = one.pid ? one.pid() : 0; pid > 0)
      roots.insert(static_cast<pid_t>(pid));
  const auto used = sandbox::measure_trees(roots);
  bool news = false;
  for (auto& [number, one] : running_) {
    auto fresh = one.about;
    fresh.pid = one.pid ? std::max<std::int64_t>(one.pid(), 0) : 0;
    fresh.active_at = one.active_at();
    if (const auto at = used.find(static_cast<pid_t>(fresh.pid)); at != used.end()) {
      fresh.cpu_seconds = at->second.cpu_seconds;
      fresh.rss_bytes = at->second.rss_bytes;
      fresh.processes = at->second.processes;
    }
    news = news || fresh.pid != one.about.pid || fresh.active_at != one.about.active_at ||
           fresh.cpu_seconds != one.about.cpu_seconds || fresh.rss_bytes != one.about.rss_bytes ||
           fresh.processes != one.about.processes;
    one.about = std::move(fresh);
  }
  return news;
}

void sandbox_list_state::measure_due_now() {
  clock_runs_ = false;
  if (watching_.empty() || running_.empty())
    return;
  if (measure())
    return changed(); // who asks again starts the clock again
  clock_runs_ = true;
  tell_later(self_, between_measures, sandbox_list_handle(self_), measure_due{});
}

caf::result<ipc::command_list_result>
sandbox_list_state::list(const ipc::command_list_params& what) {
  if (what.after != revision_) {
    if (measure())
      changed();
    return everything();
  }
  // Nothing runs: nothing to measure either, its start is news by itself.
  if (!running_.empty() && !std::exchange(clock_runs_, true))
    tell_later(self_, between_measures, sandbox_list_handle(self_), measure_due{});
  return watching_.add(self_, watches_, what);
}

void sandbox_list_state::changed() {
  ++revision_;
  using answer = result<ipc::command_list_result>;
  watching_.changed([&](const auto&) { return std::optional<answer>(everything()); });
}

ipc::command_list_result sandbox_list_state::everything() const {
  ipc::command_list_result out;
  for (const auto& [number, one] : running_)
    out.commands.push_back(one.about);
  out.revision = revision_;
  return out;
}

sandbox_list_handle::behavior_type sandbox_list_actor(sandbox_list_state::pointer self) {
  harden(self);
  return {
      [=](const sandbox_begun& what) { state(self).begun(what); },
      [=](const command_begun& what) { state(self).command(what); },
      [=](const command_noted& what) { state(self).command(what); },
      [=](const command_over& what) { state(self).command(what); },
      [=](const measure_due&) { state(self).measure_due_now(); },
      [=](const ipc::command_list_params& what) { return state(self).list(what); },
      [=](const ipc::command_report_params& what) { return state(self).report(what); },
  };
}

broker_starter listed(broker_starter start, sandbox_list_handle list) {
  return [start = std::move(start), list = std::move(list)](remote_broker_handle owner,
                                                            std::string job) {
    sandbox_begun begun;
    begun.broker = caf::actor_cast<caf::actor>(owner);
    if (auto read = sandbox::read_job(job)) {
      begun.about.command = orchestration::bounded(read->command, shown_command_bytes);
      begun.about.cwd = read->directory;
      begun.about.on_host = read->on_host;
      if (!read->session_id.empty())
        begun.about.session_id = read->session_id;
      if (!read->command_id.empty())
        begun.about.id = read->command_id;
    }
    const auto active = std::make_shared<std::atomic<std::int64_t>>(now_ms());
    begun.active_at = [active] { return text_of_ms(active->load()); };
    begun.about.started_at = begun.about.active_at = begun.active_at();
    broker_line line = start(std::move(owner), std::move(job));
    begun.pid = line.pid;
    line.grant = [grant = std::move(line.grant), active](std::size_t bytes) {
      active->store(now_ms());
      grant(bytes);
    };
    tell(list, std::move(begun));
    return line;
  };
}

} // namespace piorch::actors
