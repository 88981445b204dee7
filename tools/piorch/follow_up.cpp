// `piorch follow-up`, `wait`: a task for a live session, and waiting for one.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "orchestration/json_text.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace piorch::cli {

namespace {

constexpr option follow_up_options[] = {
    {'d', "background", "", "do not wait for the answer"},
    {0, "timeout", "SECONDS", "how long the run may take"},
    {0, "json", "", "print the answer of the orchestrator as JSON"},
};

constexpr option wait_options[] = {
    {0, "timeout", "SECONDS", "give up after so long; the sessions go on"},
    {0, "any", "", "return as soon as one of the sessions has settled"},
    {0, "json", "", "print the answer of the orchestrator as JSON, one line a session"},
};

// The waits at one orchestrator, on one connection.
struct waits_at {
  ipc::connected at;
  std::vector<long long> ids;
};

// Sessions of several orchestrators and --any: the connections take turns.
constexpr std::chrono::milliseconds turn{50};

} // namespace

const command_help follow_up_help = {
    "follow-up",
    "",
    "give a live session another task",
    "follow-up [OPTION…] SESSION TASK…",
    follow_up_options,
    "A session that runs takes the task when it is through; each waiter gets the text that\n"
    "answers its own task.\n"};

const command_help wait_help = {"wait",
                                "",
                                "wait until sessions have settled and print their text",
                                "wait [OPTION…] SESSION…",
                                wait_options,
                                ""};

int follow_up_command(const arguments& args) {
  const auto given = parse_options(follow_up_options, args);
  if (!given)
    return usage_error("follow-up", given.failed().text);
  auto words = given->words;
  words.insert(words.end(), given->rest.begin(), given->rest.end());
  if (words.empty())
    return usage_error("follow-up", "no session given");
  ipc::session_follow_up_params p;
  p.session_id = words.front();
  words.erase(words.begin());
  auto task = task_from(words);
  if (!task)
    return usage_error("follow-up", task.failed().text);
  p.task = std::move(*task);
  if (const auto* timeout = given->last("timeout")) {
    auto limit = seconds_from("timeout", *timeout);
    if (!limit)
      return usage_error("follow-up", limit.failed().text);
    p.timeout = *limit;
  }
  p.background = given->has("background");
  p.follow = !p.background && !given->has("json");
  auto found = find_session(p.session_id);
  if (!found)
    return failed("follow-up", found.failed());
  const auto id = orchestration::string_at(found->document, "id");
  p.session_id = id;
  return run_session_call("follow-up", found->at, p, {p.background, given->has("json"), false, id});
}

int wait_command(const arguments& args) {
  const auto given = parse_options(wait_options, args);
  if (!given)
    return usage_error("wait", given.failed().text);
  auto words = given->words;
  words.insert(words.end(), given->rest.begin(), given->rest.end());
  if (words.empty())
    return usage_error("wait", "no session given");
  std::optional<std::chrono::milliseconds> limit;
  if (const auto* timeout = given->last("timeout")) {
    auto read = seconds_from("timeout", *timeout);
    if (!read)
      return usage_error("wait", read.failed().text);
    limit = *read;
  }
  std::vector<waits_at> places;
  for (const auto& word : words) {
    auto found = find_session(word);
    if (!found)
      return failed("wait", found.failed());
    ipc::session_wait_params p;
    p.session_id = orchestration::string_at(found->document, "id");
    p.timeout = limit;
    auto place = std::find_if(places.begin(), places.end(), [&](const waits_at& w) {
      return w.at.server.pid == found->at.server.pid;
    });
    if (place == places.end())
      place = places.insert(places.end(), waits_at{std::move(found->at), {}});
    place->ids.push_back(place->at.peer.request(p));
  }
  const bool any = given->has("any");
  for (auto& place : places)
    if (auto sent = place.at.peer.flush(ipc::client::clock::now() + std::chrono::seconds(5)); !sent)
      return failed("wait", sent.failed());
  int status = exit_done;
  const auto show = [&](const result<nlohmann::json>& answer) {
    if (!answer) {
      status = failed("wait", answer.failed());
      return;
    }
    auto out = given->has("json") ? orchestration::dump(*answer)
                                  : orchestration::string_at(*answer, "text");
    if (out.empty() || out.back() != '\n')
      out += '\n';
    if (print(out) != exit_done)
      status = exit_failed;
  };
  while (!places.empty()) {
    for (auto& place : places) {
      std::optional<ipc::client::clock::time_point> until;
      if (any && places.size() > 1)
        until = ipc::client::clock::now() + turn;
      auto in = place.at.peer.receive(until);
      if (!in)
        return failed("wait", in.failed());
      if (in->what != ipc::client::incoming::kind::message)
        continue;
      bool answered = false;
      for (auto id = place.ids.begin(); id != place.ids.end(); ++id) {
        const auto answer = ipc::client::answer_to(*id, in->message);
        if (!answer)
          continue;
        show(*answer);
        place.ids.erase(id);
        answered = true;
        break;
      }
      if (any && answered)
        return status;
    }
    places.erase(
        std::remove_if(places.begin(), places.end(), [](const auto& w) { return w.ids.empty(); }),
        places.end());
  }
  return status;
}

} // namespace piorch::cli
