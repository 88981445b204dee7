#include "config/text.hpp"
#include "config/version.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/output.hpp"

#include <unistd.h>

namespace piorch::cli {

namespace {

std::string heading(std::string_view text, bool colour) {
  std::string out = colour ? "\x1b[1m" : "";
  out.append(text);
  return out.append(colour ? "\x1b[0m\n" : "\n");
}

} // namespace

const command_help help_help = {"help",           "", "this overview, or the help of one command",
                                "help [COMMAND]", {}, ""};

const command* find_command(std::string_view name) {
  for (const auto& one : command_table())
    if (one.help->name == name || (!name.empty() && one.help->alias == name))
      return &one;
  return nullptr;
}

std::string help_text(const command_help& about, bool colour) {
  std::string out = heading("Usage", colour);
  std::string_view forms = about.synopsis;
  while (!forms.empty()) {
    const auto end = forms.find('\n');
    out.append("  piorch ").append(forms.substr(0, end)).append("\n");
    forms = end == std::string_view::npos ? std::string_view{} : forms.substr(end + 1);
  }
  out.append("\n").append(about.summary).append("\n");
  if (!about.alias.empty())
    out.append("Also called as: piorch ").append(about.alias).append("\n");
  out.append("\n").append(heading("Options", colour)).append(describe(about.options));
  if (!about.details.empty())
    out.append("\n").append(about.details);
  return out;
}

std::string overview_text(bool colour) {
  std::string out = "piorch ";
  out.append(version).append(
      ": sandboxed commands and subagent sessions for the Pi coding agent\n\n");
  out.append(heading("Usage", colour)).append("  piorch COMMAND [OPTION…]\n\n");
  out.append(heading("Commands", colour));
  for (const auto& one : command_table()) {
    std::string left = "  ";
    left.append(one.help->name);
    left.append(left.size() < 14 ? 14 - left.size() : 1, ' ');
    out.append(left).append(one.help->summary).append("\n");
  }
  return out.append("\npiorch help COMMAND tells more about one of them.\n");
}

std::string unknown_command_text(std::string_view name) {
  std::string text = "unknown command " + config::in_quotes(name);
  std::vector<std::string_view> names;
  for (const auto& one : command_table()) {
    names.push_back(one.help->name);
    if (!one.help->alias.empty())
      names.push_back(one.help->alias);
  }
  if (const auto meant = config::nearest(name, names); !meant.empty())
    text.append(", did you mean ").append(meant).append("?");
  return text;
}

int help_command(const arguments& args) {
  const bool colour = colour_wanted(STDOUT_FILENO);
  const auto options = parse_options({}, args);
  if (!options)
    return usage_error("help", options.failed().text);
  arguments names = options->words;
  names.insert(names.end(), options->rest.begin(), options->rest.end());
  if (names.empty())
    return print(overview_text(colour));
  if (names.size() > 1)
    return usage_error("help", "one command at a time");
  const command* found = find_command(names[0]);
  if (!found)
    return usage_error("", unknown_command_text(names[0]));
  return print(help_text(*found->help, colour));
}

} // namespace piorch::cli
