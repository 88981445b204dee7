// `piorch status`: what the orchestrators know of sessions.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instance_watch.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_board.hpp"
#include "tools/piorch/watch.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

namespace piorch::cli {

using nlohmann::json;
using orchestration::session_document;

namespace {

constexpr option status_options[] = {
    {'w', "watch", "", "show it again whenever something changes, until Ctrl-C"},
    {0, "json", "",
     "the documents of the sessions as JSON, one line each time;\nwithout --watch and SESSION also "
     "the commands that run"},
};

orchestration::instant now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::size_t columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 120;
}

// `commands`: null for none.
std::string as_text(const std::map<std::string, json>& sessions, const json& commands,
                    bool as_json) {
  if (as_json) {
    json out{{"sessions", json::array()}};
    for (const auto& [id, d] : sessions)
      out["sessions"].push_back(d);
    if (!commands.is_null())
      out["commands"] = commands;
    return orchestration::dump(out) + "\n";
  }
  std::vector<session_document> documents;
  for (const auto& [id, d] : sessions)
    if (auto read = orchestration::session_document_from(d))
      documents.push_back(std::move(*read));
  return orchestration::status_table(std::move(documents), now(),
                                     {columns(), colour_wanted(STDOUT_FILENO)});
}

std::string as_text(const json& document, bool as_json) {
  const auto d = orchestration::session_document_from(document);
  return as_json || !d ? orchestration::dump(document) + "\n"
                       : orchestration::status_details(*d, now());
}

// Prints what is new; on a terminal in place of what was there.
class screen {
public:
  explicit screen(bool redraws) : live_(redraws && colour_wanted(STDOUT_FILENO)) {}
  int show(const std::string& text) {
    if (text == shown_)
      return exit_done;
    shown_ = text;
    return print((live_ ? "\033[H\033[J" : "") + text);
  }
  // When ages on the screen are wrong again.
  std::optional<ipc::client::clock::time_point> next() const {
    if (!live_)
      return {};
    return ipc::client::clock::now() + std::chrono::seconds(1);
  }

private:
  bool live_;
  std::string shown_;
};

int show_all(bool watch, bool as_json) {
  const auto directory = open_instance_directory();
  if (!directory)
    return failed("status", directory.failed());
  session_board board;
  std::vector<instance_watch::list> wanted{board.list()};
  // Their figures change every second: to watch is not to be told of each.
  json commands = as_json && !watch ? json::array() : json();
  if (commands.is_array())
    wanted.push_back({[](auto after) { return ipc::command_list_params{after}; },
                      [&](auto, const json& answer) -> result<std::uint64_t> {
                        for (const auto& c : orchestration::member(answer, "commands"))
                          commands.push_back(c);
                        return orchestration::count_at(answer, "revision");
                      }});
  bool gone = false;
  instance_watch lists(*directory, std::move(wanted), [&](auto of) {
    board.lost(of);
    gone = true;
    if (!watch)
      complain("status", "the orchestrator with pid " + std::to_string(of) + " does not answer");
  });
  if (watch)
    if (const auto begun = lists.begin(); !begun)
      return failed("status", begun.failed());
  // Starts one when there is none: it alone reads what ended sessions have left.
  auto all = reach_all_orchestrators();
  if (!all)
    return failed("status", all.failed());
  lists.look(std::move(*all));
  screen out(watch && !as_json);
  for (;;) {
    const auto sessions = board.sessions();
    const int status = out.show(as_text(sessions, commands, as_json));
    if (!watch || status != exit_done)
      return status;
    const bool ages = std::any_of(sessions.begin(), sessions.end(),
                                  [](const auto& s) { return is_live_document(s.second); });
    if (lists.wait(ages ? out.next() : std::nullopt) == instance_watch::event::closed)
      return exit_done;
    // The others know what it has left behind; somebody has to.
    if (std::exchange(gone, false)) {
      lists.ask_again();
      if (auto again = reach_all_orchestrators())
        lists.look(std::move(*again));
    }
  }
}

// Until it has ended, if it is to be watched.
int show_one(const std::string& session, bool watch, bool as_json) {
  auto found = find_session(session);
  if (!found)
    return failed("status", found.failed());
  screen out(watch && !as_json);
  for (;;) {
    const int status = out.show(as_text(found->document, as_json));
    if (!watch || status != exit_done || !is_live_document(found->document))
      return status;
    const auto asked = found->at.peer.request(ipc::session_status_params{
        orchestration::string_at(found->document, "id"), found->revision});
    std::optional<result<json>> answer;
    while (!answer) {
      auto in = ipc::client::receive_any({&found->at.peer}, out.next(), {{STDOUT_FILENO, 0, 0}});
      if (!in.what)
        return failed("status", in.what.failed());
      if (in.what->what == ipc::client::incoming::kind::woken)
        return exit_done;
      if (in.what->what == ipc::client::incoming::kind::too_late)
        out.show(as_text(found->document, as_json));
      else
        answer = ipc::client::answer_to(asked, in.what->message);
    }
    if (!*answer)
      return failed("status", answer->failed());
    found->document = orchestration::member(**answer, "sessions").at(0);
    found->revision = orchestration::count_at(**answer, "revision");
  }
}

} // namespace

const command_help status_help = {"status",
                                  "ps",
                                  "what sessions are live and which have ended",
                                  "status [OPTION…] [SESSION]",
                                  status_options,
                                  "On a terminal --watch also shows commands, CPU, memory and what "
                                  "waits for approval,\nof all orchestrators: j and k select a "
                                  "request, a allows it once, d denies it, q ends.\n"};

int status_command(const arguments& args) {
  const auto given = parse_options(status_options, args);
  if (!given)
    return usage_error("status", given.failed().text);
  if (given->words.size() > 1 || !given->rest.empty())
    return usage_error("status", "at most one session");
  const bool as_json = given->has("json");
  const bool watch = given->has("watch");
  if (given->words.empty() && watch && !as_json && can_watch_on_terminal())
    return watch_on_terminal();
  return given->words.empty() ? show_all(watch, as_json)
                              : show_one(given->words[0], watch, as_json);
}

} // namespace piorch::cli
