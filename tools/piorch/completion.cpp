#include "tools/piorch/completion.hpp"

#include <algorithm>

namespace piorch::cli {

namespace {

using kind = completion::kind;

bool starts_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find_first_of(separators);
    if (end != 0)
      out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

void add(completion& out, std::string_view typed, std::string_view text, std::string_view about) {
  if (starts_with(text, typed))
    out.words.push_back({std::string(text), std::string(about)});
}

void add_commands(completion& out, std::string_view typed) {
  for (const auto& one : command_table()) {
    add(out, typed, one.help->name, one.help->summary);
    if (!one.help->alias.empty())
      add(out, typed, one.help->alias, one.help->summary);
  }
}

const option* find_option(const command_help& about, std::string_view word) {
  for (const auto& one : about.options)
    if (starts_with(word, "--") ? word.substr(2) == one.name
                                : word.size() == 2 && word[0] == '-' && one.letter == word[1])
      return &one;
  return nullptr;
}

// The values of an option whose form says them: "[--format text|json]".
void add_values(completion& out, const command_help& about, const option& o,
                std::string_view typed) {
  if (o.value == "DIR")
    out.also = kind::directories;
  else if (o.value == "PATH" || o.value == "FILE")
    out.also = kind::files;
  bool here = false;
  for (const auto word : split(about.synopsis, " \n[]")) {
    if (here && word.find('|') != std::string_view::npos)
      for (const auto value : split(word, "|"))
        add(out, typed, value, "");
    here = word.size() > 2 && word.substr(2) == o.name;
  }
}

// Each form of the synopsis, less the command's name, the options and their brackets:
// {"SESSION", "TASK…"}.
std::vector<std::vector<std::string_view>> forms_of(const command_help& about) {
  std::vector<std::vector<std::string_view>> out;
  for (const auto line : split(about.synopsis, "\n")) {
    out.emplace_back();
    bool value_follows = false;
    for (const auto word : split(line.substr(about.name.size()), " []")) {
      const bool is_option = starts_with(word, "-") && word.size() > 1 && word != "--";
      if (!is_option && !value_follows && word != "OPTION…")
        out.back().push_back(word);
      const option* o = is_option ? find_option(about, word) : nullptr;
      value_follows = o && !o->value.empty();
    }
  }
  return out;
}

// The word number `place` among those that are no options.
void add_operands(completion& out, const command_help& about, std::size_t place,
                  std::string_view typed) {
  for (const auto& form : forms_of(about)) {
    if (form.empty() || form[0] == "--")
      continue;
    auto operand = form[std::min(place, form.size() - 1)];
    const bool repeated = operand.size() > 3 && operand.substr(operand.size() - 3) == "…";
    if (place >= form.size() && !repeated)
      continue;
    if (repeated)
      operand.remove_suffix(3);
    if (operand == "SESSION")
      // Whatever ends or continues one needs it to be there still.
      out.also = about.name == "status" || about.name == "follow" || about.name == "result" ||
                         about.name == "why"
                     ? kind::sessions
                     : kind::live_sessions;
    else if (operand == "FILE")
      out.also = out.also == kind::sessions ? kind::sessions_and_files : kind::files;
    else if (operand == "COMMAND-ID")
      out.command_ids = true;
    else if (operand == "ID")
      out.also = kind::approvals;
    else if (operand == "COMMAND")
      add_commands(out, typed);
    else
      for (const auto literal : split(operand, "|"))
        if (literal.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos &&
            literal != "-")
          add(out, typed, literal, "");
  }
}

// "--name", "=", "value" back into "--name=value".
bool join_at_equals(arguments& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] == "=" && starts_with(words[i - 1], "--") && words[i - 1].size() > 2) {
      words[i - 1] += '=';
      if (i + 1 < words.size())
        words[i - 1] += words[i + 1];
      const auto from = words.begin() + static_cast<std::ptrdiff_t>(i);
      const bool last = i + 2 >= words.size();
      words.erase(from, last ? words.end() : from + 2);
      if (last)
        return true;
    }
  return false;
}

} // namespace

completion complete(arguments words) {
  completion out;
  const bool was_split = join_at_equals(words);
  const std::string typed = words.empty() ? "" : words.back();
  if (words.size() < 2) {
    add_commands(out, typed);
    return out;
  }
  const command* found = find_command(words[0]);
  if (!found)
    return out;
  const command_help& about = *found->help;

  std::size_t place = 0;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "--") {
      for (const auto& form : forms_of(about))
        if (!form.empty() && form[0] == "--")
          out.also = kind::program;
      return out;
    }
    const option* o = find_option(about, words[i]);
    if (o && !o->value.empty()) {
      if (++i + 1 >= words.size()) { // its value is the word being typed
        add_values(out, about, *o, typed);
        return out;
      }
    } else if (!starts_with(words[i], "-")) {
      ++place;
    }
  }
  if (const auto equals = typed.find('=');
      starts_with(typed, "--") && equals != std::string::npos) {
    if (const option* o = find_option(about, typed.substr(0, equals)); o && !o->value.empty())
      add_values(out, about, *o, typed.substr(equals + 1));
    if (!was_split)
      out.prefix = typed.substr(0, equals + 1);
    return out;
  }
  if (starts_with(typed, "-")) {
    for (const auto& one : about.options)
      add(out, typed, "--" + std::string(one.name), one.help.substr(0, one.help.find('\n')));
    add(out, typed, "--help", "show the help of this command");
    return out;
  }
  add_operands(out, about, place, typed);
  return out;
}

} // namespace piorch::cli
