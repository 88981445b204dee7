#include "tools/piorch/progress.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/output.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace piorch::cli {

using nlohmann::json;
using orchestration::one_line;
using orchestration::printable;
using orchestration::string_at;

namespace {

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

// The argument that says most: a command, a path, else all of them.
std::string call_text(const json& event) {
  const auto& arguments = orchestration::member(event, "arguments");
  for (const char* key : {"command", "path", "file_path", "pattern", "url"})
    if (const auto value = string_at(arguments, key); !value.empty())
      return string_at(event, "tool") + " " + value;
  return string_at(event, "tool") + " " +
         (arguments.is_string() ? arguments.get<std::string>() : orchestration::dump(arguments));
}

} // namespace

std::string event_text(const json& event) {
  const auto type = string_at(event, "type");
  if (type == "task")
    return "> " + one_line(string_at(event, "text"), 200) + "\n";
  if (type == "toolStart")
    return "$ " + one_line(call_text(event), 200) + "\n";
  if (type == "toolEnd" && orchestration::bool_at(event, "isError"))
    return "! " + one_line(string_at(event, "tool"), 60) + ": " +
           one_line(string_at(event, "output"), 200) + "\n";
  if (type == "retry")
    return "! the model will be asked again (" + one_line(string_at(event, "error"), 160) + ")\n";
  if (type == "warning")
    return "! " + one_line(string_at(event, "text"), 300) + "\n";
  if (type == "gap")
    return "! events " + std::to_string(orchestration::count_at(event, "from")) + " to " +
           std::to_string(orchestration::count_at(event, "to")) + " are missing (" +
           printable(string_at(event, "reason")) + ")\n";
  if (type == "answer" && event.contains("error"))
    return "! " + printable(string_at(event, "error")) + "\n";
  if (type == "state")
    return "- " + printable(string_at(event, "state")) + "\n";
  return {};
}

progress::progress(int fd) : fd_(fd), live_(colour_wanted(fd)) {}

void progress::say(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd_, text.data(), text.size());
    if (n <= 0)
      return; // progress that nobody can read is no error of the session
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void progress::clear_line() {
  if (std::exchange(line_drawn_, false))
    say("\r\033[K");
}

void progress::end_text() {
  if (std::exchange(in_text_, false))
    say("\n");
}

void progress::show(const json& params) {
  const auto& event = orchestration::member(params, "event");
  const auto type = string_at(event, "type");
  clear_line();
  if (type == "text") {
    const auto text = printable(string_at(event, "delta"));
    say(text);
    in_text_ = !text.empty() ? text.back() != '\n' : in_text_;
    doing_ = "writing";
    return;
  }
  if (type == "state")
    doing_ = string_at(event, "state");
  else if (type == "toolStart")
    doing_ = one_line(call_text(event), 60);
  else if (type == "toolEnd" || type == "task")
    doing_ = "thinking";
  if (type == "state" && is_live(orchestration::session_state_from(doing_).value_or(
                             orchestration::session_state::idle)))
    return tick(), void(); // seen on the live line; elsewhere it is noise
  const auto text = event_text(event);
  if (!text.empty()) {
    end_text();
    say(live_ ? "\033[2m" + text.substr(0, text.size() - 1) + "\033[0m\n" : text);
  }
  tick();
}

void progress::note(std::string_view line) {
  clear_line();
  end_text();
  say("- " + std::string(line) + "\n");
  tick();
}

bool progress::tick() {
  if (!live_)
    return false;
  if (in_text_)
    return true; // the line belongs to the text
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begun_);
  const auto line = one_line(doing_ + " · " + orchestration::age_text(age), columns_of(fd_) - 1);
  say("\r\033[K\033[36m" + line + "\033[0m");
  line_drawn_ = true;
  return true;
}

} // namespace piorch::cli
