#include "actors/command_records.hpp"

#include "orchestration/json_text.hpp"

#include <algorithm>

namespace piorch::actors {

namespace {

constexpr std::size_t text_bytes = 1000; // of a command, a directory or a path

} // namespace

void command_records::begin(const std::string& id, const std::string& own_id,
                            const std::string& command, const std::string& cwd, std::string now) {
  if (all_.size() >= commands_max) {
    const auto ended = std::find_if(all_.rbegin(), all_.rend(),
                                    [](const record& r) { return r.what.ended_at.has_value(); });
    all_.erase(ended == all_.rend() ? std::prev(all_.end()) : std::prev(ended.base()));
  }
  record r;
  r.what.id = id;
  r.what.command = orchestration::bounded(command, text_bytes);
  r.what.cwd = orchestration::bounded(cwd, text_bytes);
  r.what.started_at = std::move(now);
  r.own_id = own_id;
  all_.push_front(std::move(r));
}

// Counts what there is no room for.
ipc::command_report_result* command_records::with_room(const std::string& id) {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const record& r) { return r.what.id == id; });
  if (at == all_.end())
    return nullptr;
  if (at->what.network.size() + at->what.refused_paths.size() < facts_max)
    return &at->what;
  ++at->what.left_out;
  return nullptr;
}

void command_records::note(const std::string& id, ipc::network_entry connection) {
  if (auto* what = with_room(id))
    what->network.push_back(std::move(connection));
}

void command_records::note(const std::string& id, ipc::refused_path refused) {
  refused.path = orchestration::bounded(refused.path, text_bytes);
  if (auto* what = with_room(id))
    what->refused_paths.push_back(std::move(refused));
}

void command_records::end(const std::string& id, std::string now) {
  for (auto& r : all_)
    if (r.what.id == id)
      r.what.ended_at = std::move(now);
}

result<ipc::command_report_result> command_records::find(const std::string& id) const {
  for (const auto& r : all_)
    if (r.what.id == id)
      return r.what;
  for (const auto& r : all_)
    if (r.own_id == id)
      return r.what;
  return error{failure::unknown_session, "no command " + id + " that runs or has ended lately"};
}

} // namespace piorch::actors
