#include "tools/piorch/options.hpp"

#include "config/text.hpp"

// Without this cxxopts matches every argument with std::regex, which costs time
// at start-up and recurses as deep as the argument is long: 200 KB end the stack.
#define CXXOPTS_NO_REGEX
#include <cxxopts.hpp>

namespace piorch::cli {

namespace {

constexpr option help_option = {'h', "help", "", "show this help"};

const option* find(option_list known, std::string_view name) {
  if (name == help_option.name)
    return &help_option;
  for (const auto& one : known)
    if (one.name == name)
      return &one;
  return nullptr;
}

const option* find(option_list known, char letter) {
  for (const auto& one : known)
    if (one.letter == letter)
      return &one;
  return letter == help_option.letter ? &help_option : nullptr;
}

struct split_arguments {
  arguments options; // and words; "-nVALUE" and "--name=VALUE" as two elements
  arguments rest;
  bool separated = false;
  std::string flag_with_value; // "--json=false": cxxopts would take it for a switch
};

// "-abVALUE" as cxxopts understands every value: "-a", "-b", "VALUE". True if the
// last letter still needs a value.
bool split_letters(option_list known, const std::string& arg, arguments& out) {
  for (std::size_t i = 1; i < arg.size(); ++i) {
    const option* one = find(known, arg[i]);
    if (!one) {
      out.push_back('-' + arg.substr(i)); // refused later
      return false;
    }
    out.push_back(std::string{'-', arg[i]});
    if (one->value.empty())
      continue;
    if (i + 1 == arg.size())
      return true;
    out.push_back(arg.substr(i + 1));
    return false;
  }
  return false;
}

// Finds the "--" that ends the options, which is not one that is the value of an
// option before it, and puts every value into an element of its own.
split_arguments split(option_list known, const arguments& args) {
  split_arguments out;
  bool value_follows = false;
  for (auto arg = args.begin(); arg != args.end(); ++arg) {
    if (value_follows || arg->size() < 2 || (*arg)[0] != '-') {
      out.options.push_back(*arg);
      value_follows = false;
    } else if (*arg == "--") {
      out.separated = true;
      out.rest.assign(arg + 1, args.end());
      break;
    } else if ((*arg)[1] != '-') {
      value_follows = split_letters(known, *arg, out.options);
    } else {
      const auto equals = arg->find('=');
      const option* one = find(known, std::string_view(*arg).substr(2, equals - 2));
      const bool takes_value = one && !one->value.empty();
      if (takes_value && equals != std::string::npos) {
        out.options.push_back(arg->substr(0, equals));
        out.options.push_back(arg->substr(equals + 1));
      } else {
        if (one && equals != std::string::npos)
          out.flag_with_value = arg->substr(0, equals);
        out.options.push_back(*arg);
        value_follows = takes_value;
      }
    }
  }
  return out;
}

cxxopts::Options table_for(option_list known) {
  cxxopts::Options table("piorch");
  table.allow_unrecognised_options();
  auto add = table.add_options();
  const auto add_one = [&](const option& one) {
    std::string names = one.letter ? std::string{one.letter, ','} : std::string();
    names += one.name;
    if (one.value.empty())
      add(names, "");
    else
      add(names, "", cxxopts::value<std::string>());
  };
  add_one(help_option);
  for (const auto& one : known)
    add_one(one);
  return table;
}

error unknown_option(option_list known, const std::string& arg) {
  const auto name = arg.substr(0, arg.find('='));
  std::string text = "unknown option " + config::printable(name, 80);
  if (name.substr(0, 2) == "--") {
    std::vector<std::string_view> names;
    for (const auto& one : known)
      names.push_back(one.name);
    if (const auto meant = config::nearest(name.substr(2), names); !meant.empty())
      text += ", did you mean --" + std::string(meant) + '?';
  }
  return {failure::usage, std::move(text)};
}

// cxxopts quotes with typographic marks; ours are plain.
std::string plain(std::string text) {
  for (const std::string_view mark : {"\xe2\x80\x98", "\xe2\x80\x99"})
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), "'");
  return text;
}

} // namespace

const std::string* parsed_options::last(std::string_view name) const {
  for (auto one = given.rbegin(); one != given.rend(); ++one)
    if (one->first == name)
      return &one->second;
  return nullptr;
}

std::vector<std::string> parsed_options::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [one, value] : given)
    if (one == name)
      out.push_back(value);
  return out;
}

result<parsed_options> parse_options(option_list known, const arguments& args) {
  split_arguments parts = split(known, args);
  if (!parts.flag_with_value.empty())
    return error{failure::usage, "option " + parts.flag_with_value + " takes no value"};
  std::vector<const char*> argv{"piorch"};
  for (const auto& arg : parts.options)
    argv.push_back(arg.c_str());
  parsed_options out;
  try {
    auto table = table_for(known);
    const auto found = table.parse(static_cast<int>(argv.size()), argv.data());
    for (const auto& one : found.arguments())
      out.given.emplace_back(one.key(), one.value());
    out.words = found.unmatched();
  } catch (const std::exception& e) { // a library's way to say "missing value"
    return error{failure::usage, plain(e.what())};
  }
  for (const auto& word : out.words)
    if (word.size() > 1 && word[0] == '-')
      return unknown_option(known, word);
  out.rest = std::move(parts.rest);
  out.separated = parts.separated;
  return out;
}

result<parsed_options> parse_one_word(option_list known, const arguments& args,
                                      std::string_view expected) {
  auto given = parse_options(known, args);
  if (given && (given->words.size() != 1 || given->words[0].empty() || !given->rest.empty()))
    return error{failure::usage, std::string(expected)};
  return given;
}

bool wants_help(option_list known, const arguments& args) {
  const auto parts = split(known, args);
  bool value_follows = false;
  for (const auto& arg : parts.options) {
    if (!value_follows && (arg == "-h" || arg == "--help"))
      return true;
    const option* one = value_follows || arg.size() < 2 || arg[0] != '-' ? nullptr
                        : arg[1] == '-' ? find(known, std::string_view(arg).substr(2))
                                        : find(known, arg[1]);
    value_follows = one && !one->value.empty();
  }
  return false;
}

std::string describe(option_list known) {
  std::string out;
  const auto add = [&](const option& one) {
    std::string left = one.letter ? std::string{' ', ' ', '-', one.letter, ','} : "     ";
    left.append(" --").append(one.name);
    if (!one.value.empty())
      left.append(" ").append(one.value);
    constexpr std::size_t column = 30;
    if (left.size() + 2 > column)
      left.append("\n").append(column, ' ');
    else
      left.append(column - left.size(), ' ');
    out.append(left);
    for (const char c : one.help) { // further lines of a description stay in its column
      out += c;
      if (c == '\n')
        out.append(column, ' ');
    }
    out += '\n';
  };
  for (const auto& one : known)
    add(one);
  add(help_option);
  return out;
}

} // namespace piorch::cli
