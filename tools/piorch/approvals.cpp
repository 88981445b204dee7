// `piorch approvals`: what waits for an answer in all of the user's orchestrators,
// once or (--watch) again whenever it changes.
#include "config/text.hpp"
#include "ipc/json_text.hpp"
#include "orchestration/instant.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/output.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/inotify.h>
#include <tuple>
#include <unistd.h>

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

// Foreign words in it: made safe for a terminal.
std::string table(const std::vector<approval_request>& all) {
  if (all.empty())
    return "nothing waits for approval\n";
  std::string out;
  for (const auto& a : all) {
    out += config::printable(a.id, 64) + "  " +
           (a.operation == "connect"
                ? "connect to " + config::printable(a.destination.value_or(""))
                : config::printable(a.operation + " " + a.destination.value_or(""))) +
           "  (waits " + left_until(a.expires_at) +
           ")\n    command: " + config::printable(a.command, 400) +
           "\n    in: " + config::printable(a.cwd) + "\n";
    if (a.session_id)
      out += "    session: " + config::printable(a.agent_name.value_or("") + " " + *a.session_id) +
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
      : directory_(directory), watch_(watch), json_(as_json) {}

  int run() {
    if (watch_ && !begin_watch())
      return exit_failed;
    look_around();
    if (const int status = show(); status != exit_done || !watch_)
      return status;
    for (;;) {
      if (!wait())
        return exit_done;
      if (const int status = show(); status != exit_done)
        return status;
    }
  }

private:
  struct place {
    ipc::connected at;
    std::vector<approval_request> waiting;
    std::optional<long long> asked; // until the answer comes: the next change
    bool lost = false;
  };

  // An orchestrator that comes up later touches its socket when it can be reached.
  bool begin_watch() {
    news_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (news_ && ::inotify_add_watch(news_.get(), directory_.path().c_str(), IN_ATTRIB) >= 0)
      return true;
    complain("approvals", "cannot watch " + directory_.path());
    return false;
  }

  void look_around() {
    for (auto& one : live_instances(directory_)) {
      const auto known = [&](const place& p) { return p.at.server.pid == one.server.pid; };
      if (std::any_of(places_.begin(), places_.end(), known))
        continue;
      place p{std::move(one), {}, {}, false};
      if (auto answer = p.at.peer.call(ipc::approval_list_params{}, instance_answer_time)) {
        take(p, *answer);
        places_.push_back(std::move(p));
        if (watch_)
          receive(places_.back()); // the next answer may be there already
      }
    }
  }

  // The list, and at once the question for the next one.
  void take(place& p, const nlohmann::json& answer) {
    auto list = ipc::read<ipc::approval_list_result>(answer);
    if (!list) {
      p.lost = true;
      return;
    }
    p.waiting = std::move(list->approvals);
    if (!watch_)
      return;
    p.asked = p.at.peer.request(ipc::approval_list_params{list->revision});
    p.lost = !p.at.peer.flush(ipc::client::clock::now() + instance_answer_time);
  }

  // Until one of them has something new. False: nobody reads what we print any more.
  bool wait() {
    std::vector<pollfd> ready;
    for (const auto& p : places_)
      ready.push_back({p.at.peer.descriptor(), POLLIN, 0});
    ready.push_back({news_.get(), POLLIN, 0});
    ready.push_back({STDOUT_FILENO, 0, 0}); // errors and hang-ups only
    if (::poll(ready.data(), ready.size(), -1) <= 0)
      return true;
    if (ready.back().revents != 0)
      return false;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (ready[i].revents != 0)
        receive(places_[i]);
    places_.erase(
        std::remove_if(places_.begin(), places_.end(), [](const place& p) { return p.lost; }),
        places_.end());
    if (ready[ready.size() - 2].revents != 0) {
      char names[4096];
      while (::read(news_.get(), names, sizeof names) > 0) {
      }
      look_around();
    }
    return true;
  }

  static constexpr auto kind_message = ipc::client::incoming::kind::message;
  void receive(place& p) {
    for (;;) {
      auto in = p.at.peer.receive(ipc::client::clock::now());
      if (!in)
        p.lost = true;
      if (!in || in->what != kind_message)
        return;
      if (auto answer = ipc::client::answer_to(p.asked.value_or(0), in->message)) {
        if (*answer)
          take(p, **answer);
        else
          p.lost = true;
      }
      if (p.lost)
        return;
    }
  }

  // Nothing when it would be the same again.
  int show() {
    std::vector<approval_request> all;
    for (const auto& p : places_)
      all.insert(all.end(), p.waiting.begin(), p.waiting.end());
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

  const ipc::instance_directory& directory_;
  bool watch_;
  bool json_;
  ipc::unique_fd news_;
  std::vector<place> places_;
  std::optional<std::string> shown_;
};

} // namespace

const command_help approvals_help = {
    "approvals",
    "",
    "what waits for approval, in all orchestrators of this user",
    "approvals [--watch] [--json]",
    options,
    "Answer with piorch approve ID or piorch deny ID. What nobody answers in time\n"
    "(approvals.timeoutSeconds in the configuration) is denied.\n"};

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
