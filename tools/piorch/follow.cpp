// `piorch follow`, `abort`, `stop`.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/connection_questions.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_run.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/progress.hpp"

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

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

bool is_live_state(const nlohmann::json& holder) {
  const auto state = orchestration::session_state_from(string_at(holder, "state"));
  return !state || is_live(*state);
}
// The last event of a session: after it nothing comes.
bool is_last(const nlohmann::json& event) {
  return string_at(event, "type") == "state" && !is_live_state(event);
}

class follower {
public:
  follower(found_session& of, bool asks, bool as_json)
      : peer_(of.at.peer), live_(is_live_state(of.document)), json_(as_json),
        questions_(asks, [this](const auto& params) { show(params); }) {}

  int run(const ipc::session_follow_params& p) {
    questions_.about(p.session_id);
    const auto id = peer_.request(p);
    while (!status_) {
      auto in = ipc::client::receive_any({&peer_}, questions_.look_again(), questions_.wait_for());
      if (!in.what)
        return failed("follow", in.what.failed());
      auto& message = in.what->message;
      if (in.what->what != ipc::client::incoming::kind::message) {
        questions_.read();
      } else if (auto answer = ipc::client::answer_to(id, message)) {
        if (!*answer)
          return failed("follow", answer->failed());
        if (!live_)
          last_ = orchestration::count_at(**answer, "next") - 1;
        if (last_ && p.from > *last_)
          return exit_done; // there is nothing to wait for
      } else if (!questions_.take(peer_, message) && message.method == ipc::session_event_method) {
        questions_.event(std::move(message.params));
      }
    }
    return *status_;
  }

private:
  void show(const nlohmann::json& params) {
    if (status_)
      return;
    const auto& event = orchestration::member(params, "event");
    std::string out;
    if (json_) {
      out = orchestration::dump(params) + "\n";
    } else if (string_at(event, "type") == "text") {
      out = orchestration::printable(string_at(event, "delta"));
      in_text_ = !out.empty() ? out.back() != '\n' : in_text_;
    } else if (auto text = event_text(event); !text.empty()) {
      out = (std::exchange(in_text_, false) ? "\n" : "") + text;
    }
    const int status = out.empty() ? exit_done : print(out);
    // Events that could not be kept may be the last ones: a gap stands for them.
    if (status != exit_done || is_last(event) ||
        (last_ && orchestration::count_at(params, "seq") >= *last_))
      status_ = status;
  }

  ipc::client& peer_;
  bool live_;
  bool json_;
  bool in_text_ = false;
  std::optional<std::uint64_t> last_; // of a session that has ended
  std::optional<int> status_;         // ours, when all is shown
  connection_questions questions_;
};

} // namespace

const command_help follow_help = {"follow",
                                  "",
                                  "the events of a session as they happen, until it ends",
                                  "follow [OPTION…] SESSION",
                                  follow_options,
                                  "On a terminal it asks there for connections, as piorch "
                                  "start.\n"};
const command_help abort_help = {
    "abort",       "", "stop the current run of a session and keep the session", "abort SESSION",
    abort_options, ""};
const command_help stop_help = {
    "stop",       "", "end sessions with everything they have started", "stop SESSION…\nstop --all",
    stop_options, ""};

int follow_command(const arguments& args) {
  const auto given = parse_one_word(follow_options, args, "exactly one session is expected");
  if (!given)
    return usage_error("follow", given.failed().text);
  ipc::session_follow_params p;
  if (const auto* from = given->last("from")) {
    char* end = nullptr;
    errno = 0;
    p.from = std::strtoull(from->c_str(), &end, 10);
    if (from->empty() || *end != '\0' || from->front() == '-' || errno != 0)
      return usage_error("follow",
                         "--from: the number of an event is expected, not \"" + *from + "\"");
  }
  const bool asks = !given->has("json") && can_ask_here();
  auto found = find_session(given->words[0], asks ? answers::yes : answers::no);
  if (!found)
    return failed("follow", found.failed());
  p.session_id = string_at(found->document, "id");
  return follower(*found, asks, given->has("json")).run(p);
}

int abort_command(const arguments& args) {
  const auto given = parse_one_word(abort_options, args, "exactly one session is expected");
  if (!given)
    return usage_error("abort", given.failed().text);
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
