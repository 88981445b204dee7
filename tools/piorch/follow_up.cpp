// `piorch follow-up`, `wait`: a task for a live session, and waiting for one.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/connection_questions.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "orchestration/json_text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
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
  std::map<long long, std::string> asked; // which request is about which session, as given
};

} // namespace

const command_help follow_up_help = {
    "follow-up",
    "",
    "give a live session another task",
    "follow-up [OPTION…] SESSION TASK…",
    follow_up_options,
    "A session that runs takes the task when it is through; each waiter gets the text that\n"
    "answers its own task. On a terminal it asks there for connections, as piorch start.\n"};

const command_help wait_help = {"wait",
                                "",
                                "wait until sessions have settled and print their text",
                                "wait [OPTION…] SESSION…",
                                wait_options,
                                "On a terminal it asks there for connections that sessions want "
                                "to make and no rule decides.\n"};

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
  const bool asks = p.follow && can_ask_here();
  auto found = find_session(p.session_id, asks ? answers::yes : answers::no);
  if (!found)
    return failed("follow-up", found.failed());
  const auto id = orchestration::string_at(found->document, "id");
  p.session_id = id;
  return run_session_call("follow-up", found->at, p,
                          {p.background, given->has("json"), false, asks, id});
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
  const bool asks = !given->has("json") && can_ask_here();
  std::vector<waits_at> places;
  std::vector<std::string> sessions;
  for (const auto& word : words) {
    auto found = find_session(word, asks ? answers::yes : answers::no);
    if (!found)
      return failed("wait", found.failed());
    ipc::session_wait_params p;
    p.session_id = orchestration::string_at(found->document, "id");
    p.timeout = limit;
    sessions.push_back(p.session_id);
    auto place = std::find_if(places.begin(), places.end(), [&](const waits_at& w) {
      return w.at.server.pid == found->at.server.pid;
    });
    if (place == places.end())
      place = places.insert(places.end(), waits_at{std::move(found->at), {}});
    place->asked.emplace(place->at.peer.request(p), word);
  }
  const bool any = given->has("any");
  for (auto& place : places)
    if (auto sent = place.at.peer.flush(ipc::client::clock::now() + std::chrono::seconds(5)); !sent)
      return failed("wait", sent.failed());
  int status = exit_done;
  const auto show = [&](const std::string& session, const result<nlohmann::json>& answer) {
    if (!answer) {
      auto why = answer.failed();
      if (words.size() > 1)
        why.text = session + ": " + why.text;
      status = failed("wait", why);
      return;
    }
    auto out = given->has("json") ? orchestration::dump(*answer)
                                  : orchestration::string_at(*answer, "text");
    if (out.empty() || out.back() != '\n')
      out += '\n';
    if ((given->has("json") ? print(out) : print_foreign(out)) != exit_done)
      status = exit_failed;
  };
  std::size_t open = words.size();
  std::vector<ipc::client*> peers;
  for (auto& place : places)
    peers.push_back(&place.at.peer);
  connection_questions questions(asks, [](const auto&) {});
  for (const auto& id : sessions)
    questions.about(id);
  while (open > 0) {
    auto in = ipc::client::receive_any(peers, questions.look_again(), questions.wait_for());
    if (!in.what)
      return failed("wait", in.what.failed());
    if (in.index >= peers.size()) {
      questions.read();
      continue;
    }
    if (questions.take(*peers[in.index], in.what->message))
      continue;
    for (const auto& [id, session] : places[in.index].asked)
      if (const auto answer = ipc::client::answer_to(id, in.what->message)) {
        show(session, *answer);
        open = any ? 0 : open - 1;
      }
  }
  return status;
}

} // namespace piorch::cli
