// `piorch follow`, `abort`, `stop`.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/progress.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace piorch::cli {

using orchestration::string_at;

namespace {

constexpr option follow_options[] = {
    {0, "from", "N", "begin with event N (default: the first)"},
    {0, "json", "", "the events as JSON Lines"},
};
constexpr option abort_options[] = {{0, "json", "", "print {} when it is done"}};
constexpr option stop_options[] = {
    {0, "all", "", "all live sessions of all orchestrators of this user"},
    {0, "json", "", "print {} when it is done"},
};

// A tree is gone within a second; an abort has its own grace.
constexpr std::chrono::seconds end_limit{30};

int finish(const parsed_options& given) { return given.has("json") ? print("{}\n") : exit_done; }

// The last event of a session: after it nothing comes.
bool is_last(const nlohmann::json& event) {
  const auto state = orchestration::session_state_from(string_at(event, "state"));
  return string_at(event, "type") == "state" && state && !is_live(*state);
}

} // namespace

const command_help follow_help = {"follow",
                                  "",
                                  "the events of a session as they happen, until it ends",
                                  "follow [OPTION…] SESSION",
                                  follow_options,
                                  ""};
const command_help abort_help = {
    "abort",       "", "stop the current run of a session and keep the session", "abort SESSION",
    abort_options, ""};
const command_help stop_help = {
    "stop",       "", "end sessions with everything they have started", "stop SESSION…\nstop --all",
    stop_options, ""};

int follow_command(const arguments& args) {
  const auto given = parse_options(follow_options, args);
  if (!given)
    return usage_error("follow", given.failed().text);
  if (given->words.size() != 1 || !given->rest.empty())
    return usage_error("follow", "exactly one session is expected");
  ipc::session_follow_params p;
  if (const auto* from = given->last("from")) {
    char* end = nullptr;
    p.from = std::strtoull(from->c_str(), &end, 10);
    if (from->empty() || *end != '\0' || from->front() == '-')
      return usage_error("follow",
                         "--from: the number of an event is expected, not \"" + *from + "\"");
  }
  auto found = find_session(given->words[0]);
  if (!found)
    return failed("follow", found.failed());
  p.session_id = string_at(found->document, "id");
  auto& peer = found->at.peer;
  const auto id = peer.request(p);
  bool in_text = false;
  for (;;) {
    auto in = peer.receive();
    if (!in)
      return failed("follow", in.failed());
    if (auto answer = ipc::client::answer_to(id, in->message)) {
      if (!*answer)
        return failed("follow", answer->failed());
      // From after the end of an ended session there is nothing to wait for.
      const auto state = orchestration::session_state_from(string_at(found->document, "state"));
      if (state && !is_live(*state) && p.from >= orchestration::count_at(**answer, "next"))
        return exit_done;
      continue;
    }
    if (in->message.method != ipc::session_event_method)
      continue;
    const auto& event = orchestration::member(in->message.params, "event");
    std::string out;
    if (given->has("json")) {
      out = orchestration::dump(in->message.params) + "\n";
    } else if (string_at(event, "type") == "text") {
      out = orchestration::printable(string_at(event, "delta"));
      in_text = !out.empty() ? out.back() != '\n' : in_text;
    } else if (auto text = event_text(event); !text.empty()) {
      out = (std::exchange(in_text, false) ? "\n" : "") + text;
    }
    if (!out.empty())
      if (const int status = print(out); status != exit_done)
        return status;
    if (is_last(event))
      return exit_done;
  }
}

int abort_command(const arguments& args) {
  const auto given = parse_options(abort_options, args);
  if (!given)
    return usage_error("abort", given.failed().text);
  if (given->words.size() != 1 || !given->rest.empty())
    return usage_error("abort", "exactly one session is expected");
  auto found = find_session(given->words[0]);
  if (!found)
    return failed("abort", found.failed());
  auto answer =
      found->at.peer.call(ipc::session_abort_params{string_at(found->document, "id")}, end_limit);
  return answer ? finish(*given) : failed("abort", answer.failed());
}

int stop_command(const arguments& args) {
  const auto given = parse_options(stop_options, args);
  if (!given)
    return usage_error("stop", given.failed().text);
  const bool all = given->has("all");
  if (all == !given->words.empty() || !given->rest.empty())
    return usage_error("stop", "name sessions, or give --all");
  int status = exit_done;
  if (all) {
    auto instances = reach_all_orchestrators();
    if (!instances)
      return failed("stop", instances.failed());
    for (auto& one : *instances) {
      ipc::session_stop_params p;
      p.all = true;
      if (auto answer = one.peer.call(p, end_limit); !answer)
        status = failed("stop", answer.failed());
    }
  }
  for (const auto& word : given->words) {
    auto found = find_session(word);
    if (!found) {
      status = failed("stop", found.failed());
      continue;
    }
    ipc::session_stop_params p;
    p.session_id = string_at(found->document, "id");
    if (auto answer = found->at.peer.call(p, end_limit); !answer)
      status = failed("stop", answer.failed());
  }
  return status == exit_done ? finish(*given) : status;
}

} // namespace piorch::cli
