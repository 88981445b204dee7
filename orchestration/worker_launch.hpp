// How a worker is started: which program, with which words, environment and
// files. Finding Node and Pi looks at the file system; the rest is pure. Nothing
// is started here.
#pragma once

#include "config/result.hpp"
#include "orchestration/providers.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::orchestration {

// The user's Node and Pi, resolved, outside every place a worker can write.
struct pi_installation {
  std::string node;    // executable
  std::string cli;     // the JavaScript file that Node runs
  std::string package; // Pi's package directory, which holds it
};

// Looks for `node` and `pi` in the absolute entries of a PATH. Entries inside one
// of the `untrusted` directories (absolute, resolved), and programs that resolve
// into one, are passed over: a worker could have put them there.
// failure::sandbox_unavailable: what is missing and how to get it.
result<pi_installation> find_pi(std::string_view path, const std::vector<std::string>& untrusted);

// A file of the worker's private agent directory.
struct agent_file {
  std::string name;
  std::string text;
};

// What the user's own agent directory holds; missing files are empty.
struct agent_settings {
  std::string settings_json;
  std::string models_json;
  std::string auth_json;
};
// Reads them; bounded. A file that exists and cannot be read is an error.
result<agent_settings> read_agent_settings(const std::string& agent_dir);

struct worker_wish {
  std::string model;                              // empty: the user's default
  std::optional<std::vector<std::string>> tools;  // nothing: Pi's default ones
  std::map<std::string, std::string> environment; // of the client
  std::string compile_cache;                      // warm copy, absolute; empty: none
};

// The whole description. The broker puts the files, read-only, into a fresh
// directory of the sandbox that the worker may otherwise write, and names it in
// PI_CODING_AGENT_DIR: a read-only directory would end the worker (it makes its
// locks there), and the user's own would let it plant extensions.
struct worker_launch {
  std::vector<std::string> argv;
  std::vector<std::string> environment; // NAME=VALUE, sorted; without PI_CODING_AGENT_DIR
  std::vector<agent_file> agent_files;
  std::vector<std::string> readable; // must be visible inside, read-only
  std::vector<provider_endpoint> providers;
};

inline constexpr const char* agent_dir_variable = "PI_CODING_AGENT_DIR";

// failure::usage for a model or a tool name that could be taken for an option.
result<worker_launch> make_worker_launch(const pi_installation& pi, const agent_settings& user,
                                         const worker_wish& wish);

// Whom a worker with this model (empty: the default one) may ask. Certain when the user's files
// know the provider that is named; else any that they know, the default one and the one that is
// named: it may be a pattern, or part of another provider's model ("anthropic/opus" of a router).
struct model_providers {
  bool certain = false;
  std::set<std::string> names; // one when it is certain
};
model_providers providers_for(const std::string& model, const agent_settings& user);

// What such a worker needs of them: of auth.json and models.json only its provider, so that what
// the worker runs finds no other credentials. Unchanged when the provider is not certain.
agent_settings only_provider(agent_settings user, const std::string& model);

// Of the user's settings.json only what chooses the model and how it is asked: packages,
// extensions, hooks and proxies of the host have no business in a worker.
std::string minimal_settings(std::string_view settings_json);

} // namespace piorch::orchestration
