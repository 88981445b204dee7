// `piorch approvals`: what waits for an answer in all of the user's orchestrators,
// once or (--watch) again whenever it changes.
#include "config/text.hpp"
#include "ipc/json_text.hpp"
#include "orchestration/instant.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instance_watch.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/output.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace piorch::cli {

namespace {

constexpr option options[] = {
    {'w', "watch", "", "go on, and show them again whenever something has changed"},
    {0, "json", "", "one JSON object a line: {\"approvals\":[…]}"},
};

using ipc::approval_request;

std::string left_until(const std::string& expires_at) {
  const auto when = orchestration::instant_from(expires_at);
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return when && *when > now ? "for another " + orchestration::age_text(*when - now)
                             : "for no longer";
}

// Foreign words in it: made safe for a terminal. A command for the host is shown whole, however
// long: whoever allows it allows all of it (contract, section 9).
std::string what_it_asks(const approval_request& a) {
  if (a.operation == "execute-host")
    return "run ON THE HOST, outside of the sandbox";
  return a.operation == "connect"
             ? "connect to " + config::printable(a.destination.value_or(""))
             : config::printable(a.operation + " " + a.destination.value_or(""));
}

std::string command_of(const approval_request& a) {
  const bool whole = a.operation == "execute-host";
  return config::printable(a.command, whole ? 8 * a.command.size() + 8 : 400);
}

std::string table(const std::vector<approval_request>& all) {
  if (all.empty())
    return "nothing waits for approval\n";
  std::string out;
  for (const auto& a : all) {
    out += config::printable(a.id, 64) + "  " + what_it_asks(a) + "  (waits " +
           left_until(a.expires_at) + ")\n    " + (a.session_id ? "task: " : "command: ") +
           command_of(a) + "\n    in: " + config::printable(a.cwd) + "\n";
    if (a.session_id)
      out += "    session: " +
             config::printable((a.agent_name && !a.agent_name->empty() ? *a.agent_name + " " : "") +
                               *a.session_id) +
             "\n";
    if (a.matched_policy)
      out += "    policy: " + config::printable(*a.matched_policy) + "\n";
    if (a.warning)
      out += "    warning: " + config::printable(*a.warning) + "\n";
  }
  return out + "answer with piorch approve ID or piorch deny ID\n";
}

class viewer {
public:
  viewer(const ipc::instance_directory& directory, bool watch, bool as_json)
      : watch_(watch), json_(as_json),
        lists_(
            directory,
            {{[](auto after) { return ipc::approval_list_params{after}; },
              [this](auto of, const nlohmann::json& answer) { return take(of, answer); }}},
            [this](auto of) { waiting_.erase(of); }, watch ? answers::yes : answers::no) {}

  int run() {
    if (watch_)
      if (const auto begun = lists_.begin(); !begun) {
        complain("approvals", begun.failed().text);
        return exit_failed;
      }
    lists_.look({});
    int status = show();
    while (watch_ && status == exit_done && lists_.wait() != instance_watch::event::closed)
      status = show();
    return status;
  }

private:
  result<std::uint64_t> take(instance_watch::instance of, const nlohmann::json& answer) {
    auto list = ipc::read<ipc::approval_list_result>(answer);
    if (!list)
      return std::move(list).failed();
    waiting_[of] = std::move(list->approvals);
    return list->revision;
  }

  // Nothing when it would be the same again.
  int show() {
    std::vector<approval_request> all;
    for (const auto& [of, waiting] : waiting_)
      all.insert(all.end(), waiting.begin(), waiting.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(a.expires_at, a.id) < std::tie(b.expires_at, b.id);
    });
    std::string now;
    for (const auto& a : all)
      now += a.id + '\n';
    if (shown_ == now)
      return exit_done;
    shown_ = now;
    if (json_) {
      auto list = nlohmann::json::array();
      for (const auto& a : all)
        list.push_back(ipc::write(a));
      return print(ipc::write_json({{"approvals", std::move(list)}}) + "\n");
    }
    return print(table(all));
  }

  bool watch_;
  bool json_;
  std::map<instance_watch::instance, std::vector<approval_request>> waiting_;
  std::optional<std::string> shown_;
  instance_watch lists_;
};

} // namespace

const command_help approvals_help = {
    "approvals",
    "",
    "what waits for approval, in all orchestrators of this user",
    "approvals [--watch] [--json]",
    options,
    "Answer with piorch approve ID or piorch deny ID. What nobody answers in time\n"
    "(approvals.timeoutSeconds in the configuration) is denied. piorch exec asks on its\n"
    "terminal, and so do start, follow-up, handoff, wait and follow for sessions. A request\n"
    "waits while somebody is there who can be asked: one of those, approvals --watch,\n"
    "status --watch on a terminal, or Pi with the piorch package. Else it is denied at once.\n"};

int approvals_command(const arguments& args) {
  const auto given = parse_options(options, args);
  if (!given)
    return usage_error("approvals", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("approvals", "takes no argument");
  const auto directory = open_instance_directory();
  if (!directory) {
    complain("approvals", directory.failed().text);
    return status_of(directory.failed().code);
  }
  return viewer(*directory, given->has("watch"), given->has("json")).run();
}

} // namespace piorch::cli
