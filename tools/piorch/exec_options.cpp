#include "tools/piorch/exec_options.hpp"

#include "config/limits.hpp"
#include "config/text.hpp"
#include "tools/piorch/commands.hpp"

#include <algorithm>

namespace piorch::cli {

namespace {

constexpr option options[] = {
    {'c', "command", "STRING", "run STRING with the shell instead of a program"},
    {'C', "cwd", "DIR",
     "the workspace: the directory to run in and to write to\n(default: the current one)"},
    {0, "timeout", "S", "end the whole process tree after S seconds (fractions are fine)"},
    {0, "allow-read", "PATH", "let it read PATH too; may be repeated"},
    {0, "allow-domain", "PATTERN",
     "let it connect to these hosts: example.org, *.example.org,\neach with an optional :PORT; may "
     "be repeated"},
    {0, "deny-domain", "PATTERN", "never let it connect to these, * for all; may be repeated"},
    {0, "allow-local-port", "N",
     "let it reach port N of this host's loopback at 127.0.0.1:N\nand [::1]:N; may be repeated"},
    {0, "env", "N=V", "set variable N to V; may be repeated"},
    {0, "clear-env", "",
     "pass none of the present environment but PATH, HOME, USER, LOGNAME,\nSHELL, TERM, COLORTERM, "
     "LANG, LC_ALL and TZ"},
    {0, "ask", "",
     "ask for what needs an approval: hosts that no pattern covers,\ncommands on the host (default "
     "on a terminal)"},
    {0, "no-ask", "", "refuse it without asking (default otherwise)"},
    {0, "shell", "PATH", "the shell for -c, an absolute path"},
    {0, "report", "FILE", "write one JSON object about the run to FILE"},
};

constexpr std::int64_t longest_timeout_seconds = 31'536'000; // a year

error usage(std::string text) { return {failure::usage, std::move(text)}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_space_or_control(char c) { return (c >= '\0' && c <= ' ') || c == '\x7f'; }

// The value of a short decimal number, or nothing.
std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text)
    value = value * 10 + (c - '0');
  return value;
}

result<std::chrono::milliseconds> parse_timeout(const std::string& text) {
  const auto dot = text.find('.');
  const auto seconds = dot == 0 && text.size() > 1
                           ? std::optional<std::int64_t>(0) // ".5"
                           : whole_number(std::string_view(text).substr(0, dot));
  std::optional<std::int64_t> fraction = 0;
  if (dot != std::string::npos) {
    std::string digits = text.substr(dot + 1);
    digits.resize(std::max<std::size_t>(digits.empty() ? 0 : 3, digits.size()), '0');
    fraction = digits.size() > 3 ? std::nullopt : whole_number(digits);
  }
  if (!seconds || !fraction || *seconds > longest_timeout_seconds || *seconds + *fraction == 0)
    return usage("--timeout " + config::in_quotes(text) + ": a number of seconds from 0.001 to " +
                 std::to_string(longest_timeout_seconds) + " is needed");
  return std::chrono::milliseconds(*seconds * 1000 + *fraction);
}

result<std::uint16_t> parse_port(const std::string& text) {
  const auto port = whole_number(text);
  if (!port || *port < 1 || *port > 65535)
    return usage("--allow-local-port " + config::in_quotes(text) +
                 ": a port number from 1 to 65535 is needed");
  if (limits::is_proxy_port(static_cast<std::uint64_t>(*port)))
    return usage("--allow-local-port " + text + ": that is the port of the sandbox's own proxy");
  return static_cast<std::uint16_t>(*port);
}

result<config::domain_pattern> parse_domain(std::string_view name, const std::string& text) {
  auto pattern = config::parse_pattern(text, name == "allow-domain" ? config::domain_list::allowed
                                                                    : config::domain_list::denied);
  if (!pattern)
    return usage("--" + std::string(name) + ": " + pattern.failed().text);
  return pattern;
}

result<std::pair<std::string, std::string>> parse_variable(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return usage("--env " + config::in_quotes(text) + ": NAME=VALUE is needed");
  const auto name = text.substr(0, equals);
  if (std::any_of(name.begin(), name.end(), is_space_or_control))
    return usage("--env " + config::in_quotes(text) + ": " + config::in_quotes(name) +
                 " cannot be the name of a variable");
  return std::make_pair(name, text.substr(equals + 1));
}

// Takes one option over into `out`.
result<done> apply(const std::string& name, const std::string& value, exec_options& out) {
  const auto keep = [](auto parsed, auto store) -> result<done> {
    if (!parsed)
      return std::move(parsed).failed();
    store(std::move(*parsed));
    return done{};
  };
  if (name == "timeout")
    return keep(parse_timeout(value), [&](auto v) { out.timeout = v; });
  if (name == "allow-local-port")
    return keep(parse_port(value), [&](auto v) { out.allow_local_ports.push_back(v); });
  if (name == "allow-domain")
    return keep(parse_domain(name, value), [&](auto v) { out.allow_domains.push_back(v); });
  if (name == "deny-domain")
    return keep(parse_domain(name, value), [&](auto v) { out.deny_domains.push_back(v); });
  if (name == "env")
    return keep(parse_variable(value), [&](auto v) { out.env.push_back(std::move(v)); });

  if (name == "command") {
    if (out.command_string)
      return usage("-c is given twice");
    out.command_string = value;
    return done{};
  }
  if (name == "clear-env")
    out.clear_env = true;
  else if (name == "ask")
    out.ask = ask_mode::always;
  else if (name == "no-ask")
    out.ask = ask_mode::never;
  else if (value.empty()) // the rest are paths
    return usage("--" + name + " is empty: a path is needed");
  else if (name == "cwd")
    out.cwd = value;
  else if (name == "allow-read")
    out.allow_read.push_back(value);
  else if (name == "report" && value == "-")
    return usage("--report -: a file is needed, standard output is the command's own (a file of "
                 "that name: ./-)");
  else if (name == "report")
    out.report = value;
  else if (name == "shell" && value[0] != '/')
    return usage("--shell " + config::in_quotes(value) +
                 ": an absolute path is needed, nothing is looked up in PATH");
  else if (name == "shell")
    out.shell = value;
  return done{};
}

} // namespace

const option_list exec_option_list = options;

const command_help exec_help = {
    "exec",
    "",
    "run one command in a sandbox of its own",
    "exec [OPTION…] -- CMD [ARG…]\nexec [OPTION…] -c STRING",
    options,
    "The command reads the system and the workspace, not the rest of the home; it\n"
    "writes to the workspace and a private temporary directory; it reaches the network\n"
    "only as the configuration and these options allow. piorch policy shows the details.\n"
    "Standard input, output and error are the command's own. What hostIPC in the\n"
    "configuration lets run on the host is asked for on the terminal first.\n"
    "\n"
    "The exit status is the command's; 128+N when signal N ended it; 124 when it timed\n"
    "out; 125 when piorch could not run it (nothing was executed); 126 when it is not\n"
    "executable; 127 when there is no such command. A command that ended with 0 and whose\n"
    "report could not be written makes it 1.\n"};

result<exec_options> parse_exec_options(const arguments& args) {
  auto given = parse_options(options, args);
  if (!given)
    return std::move(given).failed();
  exec_options out;
  for (const auto& [name, value] : given->given)
    if (auto applied = apply(name, value, out); !applied)
      return std::move(applied).failed();

  if (!given->words.empty())
    return usage("unexpected " + config::in_quotes(given->words[0]) +
                 ": put -- before the command");
  if (out.command_string && !given->rest.empty())
    return usage("either -c STRING or -- CMD, not both");
  if (given->has("ask") && given->has("no-ask"))
    return usage("--ask and --no-ask exclude each other");
  if (!out.command_string && given->rest.empty())
    return usage("no command: give -- CMD [ARG…] or -c STRING");
  if (!out.command_string && given->rest[0].empty())
    return usage("the command is an empty word");
  if (!out.command_string && !out.shell.empty())
    return usage("--shell is for -c STRING only");
  out.argv = std::move(given->rest);
  return out;
}

} // namespace piorch::cli
