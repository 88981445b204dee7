// What a worker of pi-subagents gets besides what every sandbox gets: the directories of its
// own run, its prompt and task, its session, a private agent directory, the code it is made
// of. Found in the words and variables that pi-subagents starts it with (docs/pi-subagents.md
// lists them); each is checked to lie where pi-subagents puts such things. What is anywhere
// else is refused, since a model can have a say in it. Looks at the file system and makes
// missing run directories; any thread.
#pragma once

#include "config/result.hpp"
#include "sandbox/environment.hpp"
#include "sandbox/private_copies.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct external_worker_inputs {
  std::vector<std::string> program;   // the real Pi: absolute, with its first arguments
  std::vector<std::string> arguments; // what pi-subagents gave
  environment variables;              // likewise
  std::string workspace;              // canonical
  std::vector<std::string> homes;     // canonical
  std::string temp_dir;               // canonical
  std::string agent_dir;              // canonical
  std::vector<std::string> readable;  // that the Pi package named
};

struct external_worker {
  std::string agent; // for people; may be empty
  std::string run;   // pi-subagents' run id; may be empty
  std::string model; // of the arguments; may be empty
  policy_extras extras;
  std::vector<private_copy> copies;
};

// Gives the worker this text as its copy of a file of the agent directory. The file must be one
// that is copied (auth.json, models.json …) and exists; else nothing happens.
void set_agent_file(external_worker& worker, const std::string& name, std::string text);

// failure::usage: not a worker of pi-subagents, or something of it lies elsewhere.
result<external_worker> examine_external_worker(const external_worker_inputs& from);

} // namespace piorch::sandbox
