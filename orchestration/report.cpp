#include "orchestration/report.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

namespace piorch::orchestration {

namespace {

constexpr std::size_t shortest_id = 8;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string padded(std::string text, std::size_t columns) {
  const auto w = width(text);
  if (w < columns)
    text.append(columns - w, ' ');
  return text;
}

const char* colour_of(session_state s) {
  switch (s) {
    case session_state::starting:
    case session_state::running:
      return "\033[32m";
    case session_state::idle:
      return "\033[36m";
    case session_state::failed:
      return "\033[31m";
    case session_state::stopped:
      break;
  }
  return "\033[2m";
}

std::string fixed(double v, int digits) {
  std::array<char, 64> out;
  const int n = std::snprintf(out.data(), out.size(), "%.*f", digits, v);
  return std::string(out.data(), static_cast<std::size_t>(std::min<int>(n, 63)));
}

using row = std::array<std::string, 7>;

} // namespace

std::string age_text(std::chrono::milliseconds age) {
  const auto s = std::max<std::int64_t>(age.count() / 1000, 0);
  if (s < 100)
    return std::to_string(s) + " s";
  if (s < 100 * 60)
    return std::to_string(s / 60) + " min";
  if (s < 48 * 3600)
    return std::to_string(s / 3600) + " h";
  return std::to_string(s / 86400) + " d";
}

std::string count_text(std::uint64_t n) {
  if (n < 1000)
    return std::to_string(n);
  if (n < 1'000'000)
    return fixed(static_cast<double>(n) / 1e3, 1) + "k";
  return fixed(static_cast<double>(n) / 1e6, 1) + "M";
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto control = c == '\n' || c == '\t' ? 0 : config::control_length(text.substr(i));
    if (control == 1) {
      out += '^';
      out += static_cast<char>(c ^ 0x40);
    } else if (control > 1) {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
    i += std::max<std::size_t>(control, 1);
  }
  return out;
}

std::string one_line(std::string_view text, std::size_t columns) {
  // Only as much as can show: a text may be megabytes.
  std::string out = printable(text.substr(0, columns * 4 + 4));
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), '\t', ' ');
  if (width(out) <= columns && out.size() >= text.size())
    return out;
  std::size_t shown = 0, at = 0;
  while (at < out.size() && shown + 1 < columns) {
    ++at;
    while (at < out.size() && is_continuation(out[at]))
      ++at;
    ++shown;
  }
  return columns == 0 ? std::string() : out.substr(0, at) + "…";
}

std::string short_id(const std::string& id, const std::vector<std::string>& all) {
  std::size_t n = shortest_id;
  for (const auto& other : all) {
    if (other == id)
      continue;
    const auto limit = std::min(id.size(), other.size());
    std::size_t same = 0;
    while (same < limit && id[same] == other[same])
      ++same;
    n = std::max(n, same + 1);
  }
  return id.substr(0, n);
}

std::string status_table(std::vector<session_document> sessions, instant now,
                         const table_options& options) {
  if (sessions.empty())
    return "no sessions\n";
  std::sort(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) {
    return std::pair(is_live(a.state), a.id) > std::pair(is_live(b.state), b.id);
  });
  std::vector<std::string> ids;
  for (const auto& s : sessions)
    ids.push_back(s.id);
  std::vector<row> rows{{"SESSION", "NAME", "STATE", "AGE", "TOKENS", "PARENT", "TASK"}};
  for (const auto& s : sessions) {
    const auto until = s.ended_at.value_or(now);
    rows.push_back({short_id(s.id, ids),
                    s.name.empty() ? "-" : s.name,
                    std::string(to_text(s.state)),
                    age_text(until - s.created_at),
                    count_text(s.usage.input_tokens) + "/" + count_text(s.usage.output_tokens),
                    s.parent_id.empty() ? "-" : short_id(s.parent_id, ids),
                    {}});
  }
  std::array<std::size_t, 6> widths{};
  for (const auto& r : rows)
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width(r[i]));
  std::size_t before_last = 0;
  for (auto w : widths)
    before_last += w + 2;
  const auto room = options.columns > before_last + 10 ? options.columns - before_last : 10;
  std::string out;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool coloured = options.colour && n > 0 && i == 2;
      if (coloured)
        out += colour_of(sessions[n - 1].state);
      out += padded(rows[n][i], widths[i]);
      if (coloured)
        out += "\033[0m";
      out += "  ";
    }
    if (n == 0) {
      out += rows[0].back();
    } else {
      const auto& s = sessions[n - 1];
      out += one_line(s.error.empty() ? s.task : s.error, room);
    }
    out += '\n';
  }
  return out;
}

std::string status_details(const session_document& d, instant now) {
  std::string out;
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty())
      out += padded(what, 10) + printable(value) + '\n';
  };
  line("session", d.id);
  line("name", d.name);
  line("parent", d.parent_id);
  line("depth", std::to_string(d.depth));
  line("state", std::string(to_text(d.state)));
  line("cwd", d.cwd);
  line("model", d.model);
  line("created", to_text(d.created_at) + " (" + age_text(now - d.created_at) + " ago)");
  if (d.ended_at)
    line("ended", to_text(*d.ended_at) + " (" + age_text(now - *d.ended_at) + " ago)");
  if (d.exit)
    line("worker", "exit status " + std::to_string(*d.exit));
  line("tokens",
       count_text(d.usage.input_tokens) + " in, " + count_text(d.usage.output_tokens) + " out");
  if (d.usage.cost > 0)
    line("cost", fixed(d.usage.cost, 4));
  if (d.usage.cpu_seconds > 0)
    line("cpu", fixed(d.usage.cpu_seconds, 2) + " s");
  if (d.usage.peak_rss_bytes > 0)
    line("memory",
         fixed(static_cast<double>(d.usage.peak_rss_bytes) / (1 << 20), 1) + " MiB at most");
  line("task", one_line(d.task, 400));
  line("error", d.error);
  return out;
}

} // namespace piorch::orchestration
