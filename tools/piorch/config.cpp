// `piorch config`: the trusted configuration, seen from outside.
#include "config/paths.hpp"
#include "config/settings.hpp"
#include "config/text.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include <nlohmann/json.hpp>

namespace piorch::cli {

namespace {

using nlohmann::ordered_json;

constexpr option options[] = {{0, "json", "", "one JSON object"}};

// Strings here can hold bytes that are no UTF-8 (a home directory can); they are
// replaced instead of ending the program.
std::string document(const ordered_json& value, int indent = -1) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

ordered_json file_or_null(const std::string& file) {
  return file.empty() ? ordered_json(nullptr) : ordered_json(file);
}

int show_path(const config::paths& where, bool json) {
  const std::string file = config::find_settings_file(where);
  if (json)
    return print(document({{"file", file_or_null(file)},
                           {"trusted", where.settings_file},
                           {"legacy", where.legacy_settings}}));
  if (file.empty())
    complain("config", "this file does not exist yet: the defaults hold");
  return print((file.empty() ? where.settings_file : file) + '\n');
}

int check(const config::paths& where, bool json) {
  const auto loaded = config::load_settings(where);
  if (!loaded) {
    if (json)
      print(document({{"ok", false},
                      {"file", file_or_null(config::find_settings_file(where))},
                      {"error", loaded.failed().text}}));
    else
      complain("config", loaded.failed().text);
    return exit_failed;
  }
  if (json)
    return print(document({{"ok", true}, {"file", file_or_null(loaded->file)}}));
  if (loaded->file.empty())
    return print("no configuration file: the defaults hold\n");
  return print(config::printable(loaded->file) + ": ok\n");
}

int show(const config::paths& where, bool json) {
  const auto loaded = config::load_settings(where);
  if (!loaded) {
    complain("config", loaded.failed().text);
    return exit_failed;
  }
  const std::string text = config::settings_json(loaded->values);
  if (json)
    return print(text + '\n');
  std::string out = loaded->file.empty() ? "# no configuration file: the defaults\n"
                                         : "# " + config::printable(loaded->file) + '\n';
  const auto values = ordered_json::parse(text);
  const auto defaults = ordered_json::parse(config::settings_json({}));
  for (const auto& section : values.items())
    for (const auto& key : section.value().items()) {
      const bool changed = key.value() != defaults[section.key()][key.key()];
      out += section.key() + '.' + key.key() + ": " + key.value().dump() +
             (changed || loaded->file.empty() ? "\n" : "  (default)\n");
    }
  return print(out);
}

} // namespace

const command_help config_help = {
    "config",
    "",
    "the trusted configuration: where it is, whether it is valid, what holds",
    "config path [--json]\nconfig check [--json]\nconfig show [--json]",
    options,
    "  path   the file that is used, or would be\n"
    "  check  read it; exit status 1 and one line if anything in it is wrong\n"
    "  show   every setting that holds; with --json in the form of the file\n"
    "\n"
    "The configuration is ~/.pi/agent/extensions/pi-sandbox/config.json, or, if that\n"
    "is missing, ~/.pi/agent/pi-sandbox.json. Nothing in a project can change it.\n"};

int config_command(const arguments& args) {
  const auto given = parse_one_word(options, args, "one of path, check and show is needed");
  if (!given)
    return usage_error("config", given.failed().text);
  const std::string& action = given->words[0];
  if (action != "path" && action != "check" && action != "show")
    return usage_error("config", config::in_quotes(action) + " is none of path, check and show");

  const auto where = config::resolve_paths(config::read_path_inputs());
  if (!where) {
    complain("config", where.failed().text);
    return exit_failed;
  }
  const bool json = given->has("json");
  return action == "path"    ? show_path(*where, json)
         : action == "check" ? check(*where, json)
                             : show(*where, json);
}

} // namespace piorch::cli
