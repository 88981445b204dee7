#include "orchestration/story.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"

#include <nlohmann/json.hpp>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

// What a reader sees of one event.
struct part {
  const char* kind;    // also its class in the page: ours, never foreign words
  std::string heading; // one line
  std::string body;    // may be long; "" for none
};

std::string arguments_text(const json& arguments) {
  // A call with one word of interest shows that word as it is.
  if (arguments.is_object() && arguments.size() == 1 && arguments.begin()->is_string())
    return arguments.begin()->get<std::string>();
  return arguments.is_string() ? arguments.get<std::string>() : dump(arguments);
}

std::string connection_text(const json& fact) {
  const auto what = string_at(fact, "host") + ":" + std::to_string(count_at(fact, "port"));
  return string_at(fact, "decision") == "deny"
             ? "Connection refused: " + what + " (" + string_at(fact, "source") + ")"
             : "Connected to " + what + " (" + string_at(fact, "source") + ")";
}

std::optional<part> part_of(const json& event) {
  const auto type = string_at(event, "type");
  const auto text = [&](const char* key) { return string_at(event, key); };
  if (type == "task")
    return part{"task", "Task " + std::to_string(count_at(event, "task")), text("text")};
  if (type == "message") {
    if (text("text").empty() && text("error").empty())
      return {}; // only tool calls, which come by themselves
    return part{"message", "Worker", text("text") + text("error")};
  }
  if (type == "toolStart")
    return part{"call", "Calls " + text("tool"), arguments_text(member(event, "arguments"))};
  if (type == "toolEnd")
    return part{bool_at(event, "isError") ? "failed" : "output",
                text("tool") + (bool_at(event, "isError") ? " failed after " : " took ") +
                    std::to_string(count_at(event, "durationMs")) + " ms",
                text("output")};
  if (type == "network") {
    const auto& fact = member(event, "fact");
    return part{
        string_at(fact, "decision") == "deny" ? "refused" : "note", connection_text(fact), {}};
  }
  if (type == "refusedFile") {
    const auto& fact = member(event, "fact");
    return part{"refused",
                "Path refused: " + string_at(fact, "path") + " (" + string_at(fact, "rule") + ")",
                {}};
  }
  if (type == "retry")
    return part{"note", "The model is asked again", text("error")};
  if (type == "warning")
    return part{"note", "Warning", text("text")};
  if (type == "gap")
    return part{"note",
                "Events " + std::to_string(count_at(event, "from")) + " to " +
                    std::to_string(count_at(event, "to")) + " are missing",
                text("reason")};
  if (type == "answer" && event.contains("error"))
    return part{"failed", "Task " + std::to_string(count_at(event, "task")) + " failed",
                text("error")};
  if (const auto state = session_state_from(text("state"));
      type == "state" && state && !is_live(*state))
    return part{"note",
                "The session has " +
                    std::string(*state == session_state::failed ? "failed" : "stopped"),
                text("error")};
  return {};
}

// Each line of `body` set in from the left.
std::string set_in(std::string_view body) {
  std::string out = "    ";
  for (const char c : printable(body)) {
    out += c;
    if (c == '\n')
      out += "    ";
  }
  out.erase(out.find_last_not_of(" \n") + 1);
  return out + "\n";
}

std::string shown(const part& p, std::string_view time, story_format format) {
  if (format == story_format::text)
    return one_line(p.heading, 1000) + "\n" + (p.body.empty() ? "" : set_in(p.body));
  std::string out = "<section class=\"";
  out += p.kind;
  out += "\"><h2>" + html_text(one_line(p.heading, 1000));
  if (!time.empty())
    out += " <time>" + html_text(time) + "</time>";
  out += "</h2>";
  if (!p.body.empty())
    out += "<pre>" + html_text(p.body) + "</pre>";
  return out + "</section>\n";
}

constexpr std::string_view page_begin =
    R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>A piorch session</title>
<style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font:14px/1.4 ui-monospace,monospace}
section{border-left:4px solid #8888;padding:.1rem .8rem;margin:.8rem 0;unicode-bidi:isolate}
h2{font-size:1rem;margin:.2rem 0;overflow-wrap:anywhere}
time{font-weight:normal;opacity:.6;font-size:.8rem}
.task{border-color:#36c}.message,.result{border-color:#393}
.refused,.failed{border-color:#c33}.refused h2,.failed h2{color:#c33}
.call,.output,.note{opacity:.85}
</style>
</head>
<body>
)";

} // namespace

std::optional<story_format> story_format_from(std::string_view word) {
  if (word == "text")
    return story_format::text;
  if (word == "html")
    return story_format::html;
  return {};
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string story_head(const session_document& d, story_format format, instant now) {
  const auto details = status_details(d, now);
  if (format == story_format::text)
    return details + "\n";
  return std::string(page_begin) + "<h1>Session " + html_text(d.name.empty() ? d.id : d.name) +
         "</h1>\n<pre>" + html_text(details) + "</pre>\n";
}

std::string story_event(const json& numbered, story_format format) {
  const auto p = part_of(member(numbered, "event"));
  return p ? shown(*p, string_at(numbered, "time"), format) : std::string();
}

std::string story_tail(const session_document& d, story_format format) {
  std::string out;
  // Until the newest task has its answer, the document has the one of the task before.
  const bool unanswered = d.state == session_state::starting || d.state == session_state::running;
  if (unanswered)
    out += shown({"note", "The newest task has no answer yet", {}}, {}, format);
  else if (!d.error.empty())
    out += shown({"failed", "It failed", d.error}, {}, format);
  if (!unanswered && (!d.text.empty() || d.error.empty()))
    out += shown({"result", "Result", d.text}, {}, format);
  return format == story_format::html ? out + "</body>\n</html>\n" : out;
}

} // namespace piorch::orchestration
