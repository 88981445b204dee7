#include "orchestration/worker_launch.hpp"

#include "orchestration/file.hpp"
#include "orchestration/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

constexpr std::size_t agent_file_bytes = 4u << 20;
constexpr std::size_t settings_depth = 32;
constexpr std::size_t settings_values = 100'000;

std::optional<json> parse_agent_file(std::string_view text) {
  return parse(text, settings_depth, settings_values);
}

bool is_untrusted(const std::string& path, const std::vector<std::string>& untrusted) {
  return std::any_of(untrusted.begin(), untrusted.end(),
                     [&](const auto& d) { return is_inside(path, d); });
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  return real ? std::string(real.get()) : std::string();
}

bool is_file(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string("/") : path.substr(0, slash);
}

std::string find_program(const char* name, std::string_view path,
                         const std::vector<std::string>& untrusted) {
  while (!path.empty()) {
    const auto entry = std::string(path.substr(0, path.find(':')));
    path.remove_prefix(std::min(path.size(), entry.size() + 1));
    if (entry.empty() || entry.front() != '/')
      continue; // relative entries mean the workspace
    const auto directory = resolved(entry);
    if (directory.empty() || is_untrusted(directory, untrusted))
      continue;
    const auto candidate = directory + "/" + name;
    if (::access(candidate.c_str(), X_OK) != 0)
      continue;
    const auto real = resolved(candidate);
    if (!real.empty() && is_file(real) && !is_untrusted(real, untrusted))
      return real;
  }
  return {};
}

// The package directory around a file of Pi: the nearest one with a package.json.
std::string package_of(const std::string& file) {
  for (auto dir = parent_of(file); dir != "/"; dir = parent_of(dir))
    if (is_file(dir + "/package.json"))
      return dir;
  return {};
}

std::string file_or_nothing(int dir, const char* name, error* why) {
  struct stat st;
  if (::fstatat(dir, name, &st, 0) != 0 && errno == ENOENT)
    return {};
  // The user's own directory may hold links (dotfile managers make them).
  const int fd = ::openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    *why = system_error(std::string("open ") + name);
    return {};
  }
  ::close(fd);
  const auto path = resolved("/proc/self/fd/" + std::to_string(dir) + "/" + name);
  auto text = read_file(AT_FDCWD, path, agent_file_bytes);
  if (!text) {
    *why = text.failed();
    return {};
  }
  return std::move(*text);
}

bool may_be_an_option(std::string_view word) {
  return word.empty() || word.front() == '-' || word.front() == '@' ||
         std::any_of(word.begin(), word.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

// Variables of the client that would change what Node or Pi itself does, or that
// point to places of the host. The sandbox sets the proxies.
bool belongs_to_the_host(std::string_view name) {
  constexpr std::array<std::string_view, 6> exact{"NODE_OPTIONS", "NODE_PATH", "NODE_COMPILE_CACHE",
                                                  "BASH_ENV",     "ENV",       agent_dir_variable};
  if (std::find(exact.begin(), exact.end(), name) != exact.end())
    return true;
  return name.substr(0, 3) == "PI_" || name.substr(0, 3) == "LD_" || name.substr(0, 7) == "PIORCH_";
}

json only(const json& object, const std::string& key) {
  json out = json::object();
  if (object.contains(key))
    out[key] = object[key];
  return out;
}

} // namespace

model_providers providers_for(const std::string& model, const agent_settings& user) {
  std::set<std::string> in_files;
  const auto add_keys = [&](const json& object) {
    if (object.is_object())
      for (const auto& [key, value] : object.items())
        in_files.insert(key);
  };
  if (const auto auth = parse_agent_file(user.auth_json))
    add_keys(*auth);
  if (const auto models = parse_agent_file(user.models_json))
    add_keys(member(*models, "providers"));
  const auto settings = parse_agent_file(user.settings_json);
  const std::string usual = settings ? string_at(*settings, "defaultProvider") : std::string();

  const auto slash = model.find('/');
  const std::string named = slash != std::string::npos ? model.substr(0, slash)
                            : model.empty()            ? usual
                                                       : std::string();
  if (in_files.count(named) != 0)
    return {true, {named}};
  model_providers out{false, std::move(in_files)};
  for (const auto& one : {named, usual})
    if (!one.empty())
      out.names.insert(one);
  return out;
}

agent_settings only_provider(agent_settings user, const std::string& model) {
  const auto found = providers_for(model, user);
  if (!found.certain)
    return user;
  const std::string& provider = *found.names.begin();
  if (const auto auth = parse_agent_file(user.auth_json); auth && auth->is_object())
    user.auth_json = dump(only(*auth, provider)) + "\n";
  if (auto models = parse_agent_file(user.models_json);
      models && member(*models, "providers").is_object()) {
    (*models)["providers"] = only((*models)["providers"], provider);
    user.models_json = dump(*models) + "\n";
  }
  return user;
}

result<pi_installation> find_pi(std::string_view path, const std::vector<std::string>& untrusted) {
  pi_installation out;
  out.node = find_program("node", path, untrusted);
  if (out.node.empty())
    return error{failure::sandbox_unavailable, "no Node.js: no program `node` in PATH outside the "
                                               "workspace; install Node.js 22.19 or newer"};
  const auto pi = find_program("pi", path, untrusted);
  if (pi.empty())
    return error{failure::sandbox_unavailable,
                 "no Pi: no program `pi` in PATH outside the workspace; install it with "
                 "npm install -g @earendil-works/pi-coding-agent"};
  out.package = package_of(pi);
  if (out.package.empty() || is_untrusted(out.package, untrusted))
    return error{failure::sandbox_unavailable,
                 pi + " does not lie in an npm package: not a Pi that can be a worker"};
  // The bundle starts in half the time of what `pi` itself names.
  const auto bundle = out.package + "/dist/bundle/cli.js";
  out.cli = is_file(bundle) && resolved(bundle) == bundle ? bundle : pi;
  return out;
}

result<agent_settings> read_agent_settings(const std::string& agent_dir) {
  agent_settings out;
  const auto dir = file::open_directory(AT_FDCWD, resolved(agent_dir));
  if (!dir)
    return out; // never set up: the worker says itself that it has no model
  error why{failure::fault, {}};
  out.settings_json = file_or_nothing(dir->fd(), "settings.json", &why);
  out.models_json = file_or_nothing(dir->fd(), "models.json", &why);
  out.auth_json = file_or_nothing(dir->fd(), "auth.json", &why);
  if (!why.text.empty())
    return error{failure::fault, agent_dir + ": " + why.text};
  return out;
}

std::string minimal_settings(std::string_view settings_json) {
  json out = json::object();
  const auto j = parse_agent_file(settings_json);
  if (!j)
    return "{}\n";
  for (const char* key :
       {"defaultProvider", "defaultModel", "defaultThinkingLevel", "transport", "cacheWarming"})
    if (const auto& value = member(*j, key); value.is_string())
      out[key] = value;
  for (const char* key : {"modelThinkingLevels", "thinkingBudgets", "retry", "compaction"})
    if (const auto& value = member(*j, key); value.is_object())
      out[key] = value;
  return dump(out) + "\n";
}

result<worker_launch> make_worker_launch(const pi_installation& pi, const agent_settings& user,
                                         const worker_wish& wish) {
  worker_launch out;
  out.argv = {pi.node, pi.cli, "--mode", "rpc", "--no-session", "-ne"};
  if (!wish.model.empty()) {
    if (may_be_an_option(wish.model))
      return error{failure::usage, "not a model: \"" + bounded(wish.model, 100) + "\""};
    out.argv.insert(out.argv.end(), {"--model", wish.model});
  }
  if (wish.tools) {
    std::string list;
    for (const auto& tool : *wish.tools) {
      if (may_be_an_option(tool) || tool.find(',') != std::string::npos)
        return error{failure::usage, "not a tool: \"" + bounded(tool, 100) + "\""};
      list += (list.empty() ? "" : ",") + tool;
    }
    if (list.empty())
      return error{failure::usage, "the list of tools is empty"};
    out.argv.insert(out.argv.end(), {"--tools", list});
  }

  auto variables = wish.environment;
  for (auto i = variables.begin(); i != variables.end();)
    i = belongs_to_the_host(i->first) ? variables.erase(i) : std::next(i);
  variables["PI_OFFLINE"] = "1"; // no look-ups at start, no npm
  if (!wish.compile_cache.empty())
    variables["NODE_COMPILE_CACHE"] = wish.compile_cache;
  for (const auto& [name, value] : variables)
    out.environment.push_back(name + "=" + value);

  auto files = only_provider(user, wish.model);
  out.agent_files.push_back({"settings.json", minimal_settings(user.settings_json)});
  if (!files.models_json.empty())
    out.agent_files.push_back({"models.json", std::move(files.models_json)});
  if (!files.auth_json.empty())
    out.agent_files.push_back({"auth.json", std::move(files.auth_json)});

  out.readable = {pi.node, pi.package};
  if (!wish.compile_cache.empty())
    out.readable.push_back(wish.compile_cache);
  out.providers = providers_of(user.models_json);
  return out;
}

} // namespace piorch::orchestration
