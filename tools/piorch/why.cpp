// `piorch why`: what was refused to a session or a command, by which rule, and which
// line of the configuration would allow it.
#include "orchestration/json_text.hpp"
#include "orchestration/refusals.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_events.hpp"

#include "config/paths.hpp"
#include "config/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace piorch::cli {

namespace {

constexpr option why_options[] = {{0, "json", "", "one JSON object: {\"refusals\":[…]}"}};
constexpr std::size_t report_limit = std::size_t{4} << 20;

result<std::string> read_whole(const std::string& file) {
  const bool is_stdin = file == "-";
  const std::string called = is_stdin ? "the report on standard input" : config::in_quotes(file);
  ipc::unique_fd opened;
  if (!is_stdin)
    opened.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!is_stdin && !opened)
    return error{failure::usage, "cannot read " + called + ": " + std::strerror(errno)};
  std::string text;
  char buffer[65536];
  for (;;) {
    const auto n = ::read(is_stdin ? STDIN_FILENO : opened.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return error{failure::usage, "cannot read " + called + ": " + std::strerror(errno)};
    if (n == 0)
      return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > report_limit)
      return error{failure::usage, called + " is longer than a report"};
  }
}

// A report of `piorch exec --report`, or the result of a command.run.
result<nlohmann::json> read_report(const std::string& file) {
  auto text = read_whole(file);
  if (!text)
    return std::move(text).failed();
  auto report = orchestration::parse(*text, 16, 200'000);
  if (!report || !report->is_object() || !orchestration::member(*report, "network").is_array())
    return error{failure::usage, (file == "-" ? "standard input" : config::in_quotes(file)) +
                                     " is no report of piorch exec --report"};
  return std::move(*report);
}

// What a command.run of one of the user's orchestrators was refused.
result<nlohmann::json> ask_for_report(const std::string& id) {
  const auto directory = open_instance_directory();
  if (!directory)
    return directory.failed();
  error last{failure::unknown_session, ""};
  for (auto& one : live_instances(*directory)) {
    auto answer = one.peer.call(ipc::command_report_params{id}, instance_answer_time);
    if (answer)
      return answer;
    last = answer.failed();
  }
  return last;
}

bool names_a_file(const std::string& word) {
  return word == "-" || word.find('/') != std::string::npos ||
         (word.size() > 5 && word.compare(word.size() - 5, 5, ".json") == 0);
}

int show(const orchestration::refusals& found, const std::string& of, bool json) {
  return print(json ? orchestration::dump(orchestration::refusals_json(found)) + "\n"
                    : orchestration::refusals_text(found, of));
}

} // namespace

const command_help why_help = {
    "why",
    "",
    "what was refused to a session or a command, and what would allow it",
    "why [--json] SESSION\nwhy [--json] COMMAND-ID\nwhy [--json] FILE",
    why_options,
    "Connections that were denied and paths that were refused, each with its rule and with\n"
    "the line of the configuration that would allow it. COMMAND-ID is one that piorch status\n"
    "--watch or --json shows, or that the client gave it: of what runs, and of the last hundred\n"
    "that have ended, as long as their orchestrator lives. FILE is a report of piorch exec\n"
    "--report (or - for standard input); with a / or .json in it a word is a file.\n"};

int why_command(const arguments& args) {
  const auto given =
      parse_one_word(why_options, args, "exactly one session, command or report is expected");
  if (!given)
    return usage_error("why", given.failed().text);
  const auto& word = given->words[0];
  const auto paths = config::resolve_paths(config::read_path_inputs());
  if (!paths)
    return failed("why", paths.failed());
  const auto settings = config::load_settings(*paths);
  if (!settings)
    return failed("why", settings.failed());
  orchestration::refusals found(settings->values,
                                settings->file.empty() ? paths->settings_file : settings->file);
  std::string of = "that command";
  if (names_a_file(word)) {
    const auto report = read_report(word);
    if (!report)
      return failed("why", report.failed());
    found.take_report(*report);
  } else {
    auto session = find_session(word);
    if (!session && session.failed().code == failure::unknown_session) {
      const auto command = ask_for_report(word);
      if (!command)
        return failed("why", command.failed().code == failure::unknown_session
                                 ? error{failure::unknown_session,
                                         session.failed().text + ", and no command of that id " +
                                             "that runs or has ended lately"}
                                 : command.failed());
      found.take_report(*command);
      return show(found, "command " + orchestration::string_at(*command, "id"), given->has("json"));
    }
    if (!session)
      return failed("why", session.failed());
    of = "session " + orchestration::string_at(session->document, "id");
    const auto read = read_events(*session, [&](const nlohmann::json& params) -> int {
      found.take_event(params);
      return exit_done;
    });
    if (!read)
      return failed("why", read.failed());
  }
  return show(found, of, given->has("json"));
}

} // namespace piorch::cli
