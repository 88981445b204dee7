// `piorch completions`: the script of a shell, and what that script asks for.
#include "tools/piorch/completion.hpp"

#include "config/paths.hpp"
#include "config/text.hpp"
#include "orchestration/journal.hpp"
#include "orchestration/report.hpp"
#include "sandbox/files.hpp"
#include "tools/piorch/completion_scripts.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/output.hpp"

#include <map>
#include <nlohmann/json.hpp>

namespace piorch::cli {

namespace {

using kind = completion::kind;
using orchestration::session_document;

constexpr option options[] = {
    {0, "words", "", "what may follow the words after --: for the scripts themselves"},
};

// Somebody waits with a finger on a key.
constexpr std::chrono::seconds answer_limit{2};
constexpr std::size_t description_bytes = 60;

std::vector<ipc::connected> instances() {
  auto directory = open_instance_directory();
  return directory ? live_instances(*directory) : std::vector<ipc::connected>{};
}

// Nothing is started for this: without an orchestrator there is what the journal has.
std::vector<session_document> known_sessions() {
  std::map<std::string, session_document> out;
  auto all = instances();
  for (auto& one : all) {
    auto answer = one.peer.call(ipc::session_status_params{}, answer_limit);
    if (!answer || !answer->contains("sessions"))
      continue;
    for (const auto& each : (*answer)["sessions"])
      if (auto d = orchestration::session_document_from(each))
        if (out.count(d->id) == 0 || is_live(d->state))
          out[d->id] = std::move(*d);
  }
  const auto paths = config::resolve_paths(config::read_path_inputs());
  if (all.empty() && paths) {
    const std::string where = sandbox::join(paths->state_dir, "sessions");
    if (auto j = sandbox::is_directory(where) ? orchestration::journal::open(where)
                                              : result<orchestration::journal>(error{}))
      for (auto& d : j->ended())
        out[d.id] = std::move(d);
  }
  std::vector<session_document> list;
  for (auto& [id, d] : out)
    list.push_back(std::move(d));
  return list;
}

std::vector<candidate> session_names(bool live_only) {
  const auto all = known_sessions();
  std::vector<std::string> ids;
  for (const auto& d : all)
    ids.push_back(d.id);
  std::vector<candidate> out;
  for (const auto& d : all) {
    if (live_only && !is_live(d.state))
      continue;
    const std::string about = std::string(to_text(d.state)) + ": " + d.task;
    if (!d.name.empty())
      out.push_back({d.name, about});
    out.push_back({orchestration::short_id(d.id, ids), about});
  }
  return out;
}

std::vector<candidate> pending_approvals() {
  std::vector<candidate> out;
  for (auto& one : instances())
    if (auto answer = one.peer.call(ipc::approval_list_params{}, answer_limit))
      if (auto list = ipc::read<ipc::approval_list_result>(*answer))
        for (const auto& a : list->approvals)
          out.push_back({a.id, a.operation + " " + a.destination.value_or(a.command)});
  return out;
}

std::vector<candidate> running_commands() {
  std::vector<candidate> out;
  for (auto& one : instances())
    if (auto answer = one.peer.call(ipc::command_list_params{}, answer_limit))
      if (auto list = ipc::read<ipc::command_list_result>(*answer))
        for (auto& c : list->commands)
          if (c.id)
            out.push_back({std::move(*c.id), std::move(c.command)});
  return out;
}

// One candidate a line: the word, a tab, what it is. ":files" and its like ask the shell
// for its own.
int print_candidates(const arguments& words) {
  auto found = complete(words);
  const std::string typed = words.empty() ? "" : words.back();
  std::vector<candidate> more;
  const bool both = found.also == kind::sessions_and_files;
  if (both || found.also == kind::sessions || found.also == kind::live_sessions)
    more = session_names(found.also == kind::live_sessions);
  else if (found.also == kind::approvals)
    more = pending_approvals();
  if (found.command_ids)
    for (auto& one : running_commands())
      more.push_back(std::move(one));
  for (auto& one : more)
    if (one.text.compare(0, typed.size(), typed) == 0)
      found.words.push_back(std::move(one));
  std::string out;
  for (const auto& one : found.words)
    out += found.prefix + config::printable(one.text) + '\t' +
           config::printable(one.description, description_bytes) + '\n';
  if (both || found.also == kind::files)
    out += ":files\n";
  else if (found.also == kind::directories)
    out += ":directories\n";
  else if (found.also == kind::program)
    out += ":program\n";
  return print(out);
}

} // namespace

const command_help completions_help = {
    "completions",
    "",
    "completion of commands, options, sessions and approvals for a shell",
    "completions bash|zsh|fish\ncompletions --words -- WORD…",
    options,
    "The packages install the scripts. Without one:\n"
    "  bash  eval \"$(piorch completions bash)\"      in ~/.bashrc\n"
    "  zsh   source <(piorch completions zsh)       in ~/.zshrc, after compinit\n"
    "  fish  piorch completions fish | source       in ~/.config/fish/config.fish\n"};

int completions_command(const arguments& args) {
  const auto given = parse_options(options, args);
  if (!given)
    return usage_error("completions", given.failed().text);
  if (given->has("words")) {
    if (!given->words.empty())
      return usage_error("completions", "put -- before the words");
    return print_candidates(given->rest);
  }
  if (given->words.size() != 1 || !given->rest.empty())
    return usage_error("completions", "name one shell: bash, zsh or fish");
  for (const auto& script : completion_scripts)
    if (given->words[0] == script.shell)
      return print(script.text);
  return usage_error("completions", "no completion for " + config::in_quotes(given->words[0]) +
                                        ": there is one for bash, zsh and fish");
}

} // namespace piorch::cli
