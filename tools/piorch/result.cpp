// `piorch result`: the last text of a session, or its whole story.
#include "orchestration/json_text.hpp"
#include "orchestration/story.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/session_events.hpp"

#include "config/text.hpp"

#include <nlohmann/json.hpp>

namespace piorch::cli {

using orchestration::string_at;

namespace {

constexpr option result_options[] = {
    {0, "format", "FORMAT", "the whole story of the session, as text or as an html page"},
    {0, "json", "", "the document of the session as JSON"},
};

// Written as it is read: a journal may hold 64 MiB.
int print_story(found_session& of, orchestration::story_format format) {
  const auto document = orchestration::session_document_from(of.document);
  if (!document)
    return failed("result", document.failed());
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  if (const int status = print(orchestration::story_head(*document, format, now));
      status != exit_done)
    return status;
  const auto read = read_events(of, [&](const nlohmann::json& params) {
    const auto text = orchestration::story_event(params, format);
    return text.empty() ? static_cast<int>(exit_done) : print(text);
  });
  if (!read)
    return failed("result", read.failed());
  return *read == exit_done ? print(orchestration::story_tail(*document, format)) : *read;
}

int print_text(const nlohmann::json& document) {
  auto text = string_at(document, "text");
  if (text.empty())
    return exit_done;
  if (text.back() != '\n')
    text += '\n';
  return print_foreign(text);
}

} // namespace

const command_help result_help = {
    "result",
    "",
    "the last text of a session, or its story, also after it has ended",
    "result [--json] SESSION\nresult --format text|html SESSION",
    result_options,
    "The story has the tasks, what the worker said and did, and what was refused to it; as\n"
    "html it is one page that needs nothing else and runs nothing.\n"
    "The exit status is 1 when the last run failed; the reason is on stderr.\n"};

int result_command(const arguments& args) {
  const auto given = parse_one_word(result_options, args, "exactly one session is expected");
  if (!given)
    return usage_error("result", given.failed().text);
  std::optional<orchestration::story_format> format;
  if (const auto* word = given->last("format")) {
    format = orchestration::story_format_from(*word);
    if (!format)
      return usage_error("result",
                         "--format: text or html is expected, not " + config::in_quotes(*word));
    if (given->has("json"))
      return usage_error("result", "--format and --json exclude each other");
  }
  auto found = find_session(given->words[0]);
  if (!found)
    return failed("result", found.failed());
  const int status = given->has("json") ? print(orchestration::dump(found->document) + "\n")
                     : format           ? print_story(*found, *format)
                                        : print_text(found->document);
  const auto why = string_at(found->document, "error");
  return why.empty() || status != exit_done ? status
                                            : failed("result", {failure::session_failed, why});
}

} // namespace piorch::cli
