// `piorch start`, `handoff`: a new session.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/connection_questions.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "sandbox/files.hpp"
#include "tools/piorch/surroundings.hpp"

#include <array>
#include <climits>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace piorch::cli {

namespace {

constexpr std::array<option, 7> options_with(const char* cwd) {
  return {{
      {'d', "background", "", "print the session's id once the worker has the task, and leave"},
      {0, "model", "MODEL", "provider/model, as Pi names it (default: the user's)"},
      {0, "tools", "LIST", "the worker's tools, separated by commas (default: Pi's)"},
      {'C', "cwd", "DIR", cwd},
      {0, "name", "NAME", "a name for the session: letters, digits, '.', '_' and '-'"},
      {0, "timeout", "SECONDS", "how long the run may take"},
      {0, "json", "", "print the answer of the orchestrator as JSON"},
  }};
}
constexpr auto start_options = options_with("the workspace (default: the current directory)");
constexpr auto handoff_options = options_with("the workspace (default: that of SESSION)");

std::string current_directory() {
  char here[PATH_MAX];
  return ::getcwd(here, sizeof here) ? here : "";
}

// Resolved when it exists; if not, the orchestrator says so.
std::string directory_from(const std::string& written) {
  const auto path = sandbox::absolute(written, current_directory());
  return sandbox::canonical(path).value_or(path);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

// What start and handoff have in common. Does not look whether a path exists: the
// orchestrator does.
template <class Params> result<done> fill(Params& p, const parsed_options& given) {
  if (const auto* model = given.last("model"))
    p.model = *model;
  if (const auto* tools = given.last("tools"))
    p.tools = split(*tools);
  if (const auto* name = given.last("name"))
    p.name = *name;
  if (const auto* timeout = given.last("timeout")) {
    auto limit = seconds_from("timeout", *timeout);
    if (!limit)
      return limit.failed();
    p.timeout = *limit;
  }
  p.background = given.has("background");
  p.follow = !p.background && !given.has("json");
  p.env = whole_environment();
  return done{};
}

result<arguments> words_of(const parsed_options& given) {
  auto words = given.words;
  words.insert(words.end(), given.rest.begin(), given.rest.end());
  return words;
}

} // namespace

const command_help start_help = {
    "start",
    "",
    "start a subagent session: a Pi worker in a sandbox of its own",
    "start [OPTION…] TASK…\nstart [OPTION…] -",
    start_options,
    "In the foreground the progress goes to stderr and the worker's text to stdout, and the\n"
    "session ends with its task. Ctrl-C aborts the run, a second one stops the session.\n"
    "On a terminal it asks there for connections that no rule of the configuration decides.\n"
    "With -d the session stays for follow-ups until it is stopped. A single - as TASK reads\n"
    "it from standard input.\n"};

const command_help handoff_help = {
    "handoff",
    "",
    "start a session that builds on the last text of another one",
    "handoff [OPTION…] SESSION TASK…",
    handoff_options,
    "The new session is a child of SESSION, which may have ended, and stays for follow-ups until\n"
    "it is stopped. Sessions nest at most three deep.\n"};

int start_command(const arguments& args) {
  const auto given = parse_options(start_options, args);
  if (!given)
    return usage_error("start", given.failed().text);
  ipc::session_start_params p;
  auto task = task_from(*words_of(*given));
  if (!task)
    return usage_error("start", task.failed().text);
  p.task = std::move(*task);
  const auto* cwd = given->last("cwd");
  p.cwd = directory_from(cwd ? *cwd : ".");
  if (auto filled = fill(p, *given); !filled)
    return usage_error("start", filled.failed().text);
  const bool asks = p.follow && can_ask_here();
  auto at = reach_orchestrator(asks ? answers::yes : answers::no);
  if (!at)
    return failed("start", at.failed());
  return run_session_call("start", *at, p, {p.background, given->has("json"), false, asks, {}});
}

int handoff_command(const arguments& args) {
  const auto given = parse_options(handoff_options, args);
  if (!given)
    return usage_error("handoff", given.failed().text);
  auto words = *words_of(*given);
  if (words.empty())
    return usage_error("handoff", "no session given");
  ipc::session_handoff_params p;
  p.session_id = words.front();
  words.erase(words.begin());
  auto task = task_from(words);
  if (!task)
    return usage_error("handoff", task.failed().text);
  p.task = std::move(*task);
  if (const auto* cwd = given->last("cwd"))
    p.cwd = directory_from(*cwd);
  if (auto filled = fill(p, *given); !filled)
    return usage_error("handoff", filled.failed().text);
  const bool asks = p.follow && can_ask_here();
  auto parent = find_session(p.session_id, asks ? answers::yes : answers::no);
  if (!parent)
    return failed("handoff", parent.failed());
  return run_session_call("handoff", parent->at, p,
                          {p.background, given->has("json"), true, asks, {}});
}

} // namespace piorch::cli
