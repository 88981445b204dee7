#include "tools/piorch/board.hpp"

#include "config/text.hpp"
#include "orchestration/report.hpp"

#include <algorithm>
#include <cstdio>

namespace piorch::cli {

using orchestration::age_text;
using orchestration::one_line;

namespace {

std::string cell(const std::string& text, std::size_t width) {
  auto out = one_line(text, width);
  const auto shown = static_cast<std::size_t>(std::count_if(out.begin(), out.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
  return out.append(width - std::min(shown, width), ' ');
}

std::string cpu_text(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
  return out;
}
std::string memory_text(std::uint64_t bytes) {
  return bytes == 0 ? "-" : std::to_string(bytes >> 20) + " MiB";
}
std::string age_since(const std::string& time, orchestration::instant now) {
  const auto t = orchestration::instant_from(time);
  return t ? age_text(now - *t) : "-";
}

// `text` over as many lines as it needs: nothing of what is approved is cut. Only what is
// plain ASCII is left as it is, so that no character takes more or less than its place.
void add_wrapped(std::vector<std::string>& out, const std::string& label, const std::string& text,
                 std::size_t columns) {
  std::string safe = "    " + label + ": ";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    char hex[8];
    if (u >= 0x20 && u < 0x7f && c != '\\') {
      safe += c;
    } else if (c == '\\') {
      safe += "\\\\";
    } else {
      std::snprintf(hex, sizeof hex, "\\x%02x", u);
      safe += c == '\n' ? "\\n" : c == '\t' ? "\\t" : hex;
    }
  }
  const std::size_t indent = 6;
  columns = std::max(columns, indent + 10); // each line takes some of the text
  while (safe.size() > columns) {
    out.push_back(safe.substr(0, columns));
    safe = std::string(indent, ' ') + safe.substr(columns);
  }
  out.push_back(std::move(safe));
}

std::vector<std::string> details(const ipc::approval_request& a, std::size_t columns) {
  std::vector<std::string> out;
  const auto add = [&](const char* label, const std::optional<std::string>& text) {
    if (text)
      add_wrapped(out, label, *text, columns);
  };
  add(a.operation == "connect" ? "connect to" : "to", a.destination);
  add(a.operation == "execute-host" ? "run ON THE HOST, outside of the sandbox" : "command",
      a.command);
  add("in", a.cwd);
  add("session", a.session_id);
  add("agent", a.agent_name);
  add("policy", a.matched_policy);
  add("warning", a.warning);
  return out;
}

std::string approval_line(const ipc::approval_request& a, bool selected, const board_options& o) {
  const auto until = orchestration::instant_from(a.expires_at);
  const std::string left =
      until ? age_text(std::max(*until - o.now, std::chrono::milliseconds(0))) : "-";
  return one_line((selected ? "> " : "  ") + cell(a.id, 12) + " " + cell(left, 6) + " " +
                      (a.operation == "execute-host" ? "run on the host: " + a.command
                                                     : "connect to " + a.destination.value_or("?")),
                  o.columns);
}

std::string bold(const std::string& text, const board_options& o, const char* how = "1") {
  return o.colour ? "\033[" + std::string(how) + "m" + text + "\033[0m" : text;
}

// The first `room` lines, the last of which says how many more there are.
void add_cut(std::vector<std::string>& to, std::vector<std::string> from, std::size_t room) {
  if (from.size() > room && room > 0) {
    const auto more = from.size() - room + 1;
    from.resize(room - 1);
    from.push_back("  … and " + std::to_string(more) + " more");
  } else {
    from.resize(std::min(from.size(), room));
  }
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<std::string> session_lines(const board& b, const board_options& o) {
  auto all = b.sessions;
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return std::pair(is_live(x.state), x.id) > std::pair(is_live(y.state), y.id);
  });
  std::vector<std::string> ids;
  for (const auto& s : all)
    ids.push_back(s.id);
  std::vector<std::string> out;
  for (const auto& s : all) {
    const auto worker = std::find_if(b.commands.begin(), b.commands.end(),
                                     [&](const auto& c) { return c.session_id == s.id; });
    const bool measured = worker != b.commands.end();
    const auto cpu = measured ? worker->cpu_seconds : s.usage.cpu_seconds;
    const auto memory = measured ? worker->rss_bytes : std::uint64_t{0};
    out.push_back(one_line(
        "  " + cell(orchestration::short_id(s.id, ids), 8) + " " +
            cell(s.name.empty() ? "-" : s.name, 10) + " " + cell(std::string(to_text(s.state)), 8) +
            " " + cell(age_text(s.ended_at.value_or(o.now) - s.created_at), 7) + " " +
            cell(cpu_text(cpu), 7) + " " + cell(memory_text(memory), 8) + " " +
            cell(age_text(o.now - s.updated_at), 7) + " " + (s.error.empty() ? s.task : s.error),
        o.columns));
  }
  return out;
}

std::vector<std::string> command_lines(const board& b, const board_options& o) {
  std::vector<std::string> out;
  for (const auto& c : b.commands)
    if (!c.session_id)
      out.push_back(one_line("  " +
                                 cell(c.id        ? *c.id
                                      : c.pid > 0 ? std::to_string(c.pid)
                                                  : "-",
                                      19) +
                                 " " +
                                 cell(c.on_host   ? "on host"
                                      : c.pid > 0 ? "running"
                                                  : "starting",
                                      8) +
                                 " " + cell(age_since(c.started_at, o.now), 7) + " " +
                                 cell(cpu_text(c.cpu_seconds), 7) + " " +
                                 cell(memory_text(c.rss_bytes), 8) + " " +
                                 cell(age_since(c.active_at, o.now), 7) + " " + c.command,
                             o.columns));
  return out;
}

} // namespace

drawn_board draw(const board& b, const board_options& o) {
  drawn_board out;
  const auto sessions = session_lines(b, o);
  const auto commands = command_lines(b, o);
  const auto live = std::count_if(b.sessions.begin(), b.sessions.end(),
                                  [](const auto& s) { return is_live(s.state); });
  auto& lines = out.lines;
  lines.push_back(bold(one_line("piorch  live sessions: " + std::to_string(live) +
                                    ", commands: " + std::to_string(commands.size()) +
                                    ", waiting for approval: " + std::to_string(b.approvals.size()),
                                o.columns),
                       o));
  const std::size_t foot = 1; // and a line for each table's head besides
  std::size_t room = o.rows > 4 ? o.rows - lines.size() - foot - 2 : 0;

  if (!b.approvals.empty()) {
    std::vector<std::string> chosen;
    const auto at = std::find_if(b.approvals.begin(), b.approvals.end(),
                                 [&](const auto& a) { return a.id == b.selected; });
    if (at != b.approvals.end()) {
      chosen = details(*at, o.columns);
      chosen.insert(chosen.begin(), bold(approval_line(*at, true, o), o, "7"));
      if (chosen.size() <= room) {
        out.answerable = at->id;
      } else {
        chosen.resize(std::min<std::size_t>(room, 1));
        if (room > 1)
          chosen.push_back(one_line("    too long for this screen: piorch approvals shows it, "
                                    "piorch approve answers",
                                    o.columns));
      }
    }
    std::vector<std::string> others;
    for (const auto& a : b.approvals)
      if (a.id != b.selected)
        others.push_back(approval_line(a, false, o));
    lines.insert(lines.end(), chosen.begin(), chosen.end());
    room -= std::min(room, chosen.size());
    const auto before = lines.size();
    add_cut(lines, std::move(others), std::min<std::size_t>(room, 6));
    room -= std::min(room, lines.size() - before);
  }
  const char* columns_text = " STATE    AGE     CPU     MEMORY   ACTIVE  ";
  if (o.rows > 4) {
    const auto for_commands =
        std::min(commands.size(), std::max(room / 3, room - std::min(room, sessions.size())));
    lines.push_back(bold(
        one_line(std::string("  SESSION  NAME      ") + columns_text + "TASK", o.columns), o, "2"));
    add_cut(lines, sessions, room - for_commands);
    lines.push_back(
        bold(one_line(std::string("  COMMAND            ") + columns_text + "COMMAND", o.columns),
             o, "2"));
    add_cut(lines, commands, for_commands);
  }
  std::string help = b.note;
  if (help.empty())
    help = !o.keys                  ? "piorch approve ID, piorch deny ID; Ctrl-C ends"
           : b.approvals.empty()    ? "q ends"
           : out.answerable.empty() ? "j k select a request for approval   q ends"
                                    : "a allow once   d deny   j k select   q ends";
  lines.push_back(bold(one_line(help, o.columns), o, "2"));
  lines.resize(std::min(lines.size(), o.rows));
  return out;
}

} // namespace piorch::cli
