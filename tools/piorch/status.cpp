// `piorch status`, `result`: what the orchestrators know of sessions.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace piorch::cli {

using nlohmann::json;
using orchestration::session_document;

namespace {

constexpr option status_options[] = {
    {'w', "watch", "", "show it again every second until Ctrl-C"},
    {0, "json", "", "the documents of the sessions as JSON"},
};
constexpr option result_options[] = {{0, "json", "", "the document of the session as JSON"}};

constexpr std::chrono::seconds answer_limit{10};

orchestration::instant now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::size_t columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 120;
}

// All sessions, each once: several orchestrators read the same journal, and the one
// that has a session live knows it best.
result<std::map<std::string, json>> all_sessions(std::vector<ipc::connected>& all) {
  std::map<std::string, json> out;
  for (auto& one : all) {
    auto answer = one.peer.call(ipc::session_status_params{}, answer_limit);
    if (!answer)
      return std::move(answer).failed();
    for (auto& d : (*answer)["sessions"]) {
      const auto id = orchestration::string_at(d, "id");
      const auto state = orchestration::session_state_from(orchestration::string_at(d, "state"));
      if (state && (out.count(id) == 0 || is_live(*state)))
        out[id] = std::move(d);
    }
  }
  return out;
}

result<std::string> status_text(std::vector<ipc::connected>& all, bool as_json) {
  auto sessions = all_sessions(all);
  if (!sessions)
    return std::move(sessions).failed();
  if (as_json) {
    json list = json::array();
    for (auto& [id, d] : *sessions)
      list.push_back(std::move(d));
    return orchestration::dump({{"sessions", std::move(list)}}) + "\n";
  }
  std::vector<session_document> documents;
  for (const auto& [id, d] : *sessions)
    if (auto read = orchestration::session_document_from(d))
      documents.push_back(std::move(*read));
  return orchestration::status_table(std::move(documents), now(),
                                     {columns(), colour_wanted(STDOUT_FILENO)});
}

int watch() {
  auto all = reach_all_orchestrators();
  if (!all)
    return failed("status", all.failed());
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  for (;;) {
    auto text = status_text(*all, false);
    if (!text)
      return failed("status", text.failed());
    if (const int status = print((terminal ? "\033[H\033[J" : "") + *text); status != exit_done)
      return status;
    // The first connection tells us, too, when its orchestrator leaves.
    const auto until = ipc::client::clock::now() + std::chrono::seconds(1);
    for (;;) {
      auto in = all->front().peer.receive(until);
      if (!in)
        return failed("status", in.failed());
      if (in->what == ipc::client::incoming::kind::too_late)
        break;
    }
  }
}

} // namespace

const command_help status_help = {"status",
                                  "ps",
                                  "what sessions are live and which have ended",
                                  "status [OPTION…] [SESSION]",
                                  status_options,
                                  ""};
const command_help result_help = {
    "result",
    "",
    "the last text of a session, also after it has ended",
    "result [OPTION…] SESSION",
    result_options,
    "The exit status is 1 when the last run failed; the reason is on stderr.\n"};

int status_command(const arguments& args) {
  const auto given = parse_options(status_options, args);
  if (!given)
    return usage_error("status", given.failed().text);
  if (given->words.size() > 1 || !given->rest.empty())
    return usage_error("status", "at most one session");
  const bool as_json = given->has("json");
  if (given->words.empty()) {
    if (given->has("watch") && !as_json)
      return watch();
    auto all = reach_all_orchestrators();
    if (!all)
      return failed("status", all.failed());
    auto text = status_text(*all, as_json);
    return text ? print(*text) : failed("status", text.failed());
  }
  auto found = find_session(given->words[0]);
  if (!found)
    return failed("status", found.failed());
  if (as_json)
    return print(orchestration::dump(found->document) + "\n");
  const auto d = orchestration::session_document_from(found->document);
  return d ? print(orchestration::status_details(*d, now())) : failed("status", d.failed());
}

int result_command(const arguments& args) {
  const auto given = parse_options(result_options, args);
  if (!given)
    return usage_error("result", given.failed().text);
  if (given->words.size() != 1 || !given->rest.empty())
    return usage_error("result", "exactly one session is expected");
  auto found = find_session(given->words[0]);
  if (!found)
    return failed("result", found.failed());
  int status = exit_done;
  if (given->has("json")) {
    status = print(orchestration::dump(found->document) + "\n");
  } else if (auto text = orchestration::string_at(found->document, "text"); !text.empty()) {
    if (text.back() != '\n')
      text += '\n';
    status = print(text);
  }
  const auto why = orchestration::string_at(found->document, "error");
  if (why.empty())
    return status;
  return failed("result", {failure::session_failed, why});
}

} // namespace piorch::cli
