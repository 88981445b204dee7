#include "sandbox/external_worker.hpp"

#include "config/text.hpp"
#include "sandbox/external_worker_examiner.hpp"
#include "sandbox/files.hpp"

#include <algorithm>
#include <array>
#include <dirent.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr std::size_t agent_entries = 128; // each is a mount
constexpr const char* tmp_name = "tmp";
constexpr const char* agent_name = "agent";

error refuse(std::string why) { return {failure::usage, std::move(why)}; }

// Pi writes these, with locks beside them, or they hold credentials of which a worker gets some.
bool is_copied(const std::string& name) {
  constexpr std::array names{"settings.json", "auth.json", "models.json", "trust.json",
                             "models-store.json"};
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}
bool is_private(const std::string& name) {
  return name == "sessions" || name == "logs" || name == "missions" ||
         (name.size() > 5 && name.compare(name.size() - 5, 5, ".lock") == 0);
}

} // namespace

worker_examiner::worker_examiner(const external_worker_inputs& from)
    : from_(from), sessions_(join(from.agent_dir, "sessions")),
      runs_(join(from.temp_dir, "pi-subagents-uid-" + std::to_string(::geteuid()))),
      too_much_{from.workspace, from.temp_dir, from.agent_dir} {
  too_much_.insert(too_much_.end(), from.homes.begin(), from.homes.end());
}

result<external_worker> worker_examiner::run() {
  if (from_.variables.value("PI_SUBAGENT_CHILD") != "1")
    return refuse("it is started by pi-subagents for a worker (PI_SUBAGENT_CHILD=1) and for "
                  "nothing else; start Pi itself for anything else");
  for (const std::string& place : {from_.agent_dir, from_.temp_dir})
    if (is_within(place, from_.workspace))
      return refuse("a worker cannot have " + from_.workspace + " as its workspace: " + place +
                    " is in it");
  if (is_within(from_.workspace, from_.agent_dir))
    return refuse("a worker cannot have " + from_.workspace +
                  " as its workspace: it is in Pi's own directory");
  out_.agent = config::printable(from_.variables.value("PI_SUBAGENT_CHILD_AGENT"), 160);
  out_.run = config::printable(from_.variables.value("PI_SUBAGENT_RUN_ID"), 160);
  out_.extras.git_read_only = true;
  own_directories();
  read_arguments();
  read_variables();
  read_programs();
  if (!problem_.empty())
    return refuse(problem_);
  return std::move(out_);
}

void worker_examiner::fail(const std::string& what, const std::string& path,
                           const std::string& why) {
  if (problem_.empty())
    problem_ = what + " is " + config::printable(path, 300) + ", which " + why;
}
void worker_examiner::rule(access what, const std::string& path, const char* reason) {
  auto& rules = out_.extras.rules;
  const bool known = std::any_of(rules.begin(), rules.end(), [&](const auto& r) {
    return r.what == what && (r.path == path || (what == access::write && is_within(path, r.path)));
  });
  if (known)
    return;
  rules.push_back({what, path, {}, reason, true});
  rules.back().plain = what == access::write; // pi-subagents writes there as well
}

void worker_examiner::own_directories() {
  out_.extras.own = {
      {from_.temp_dir, tmp_name, "a private directory for temporary files, removed at the end"},
      {from_.agent_dir, agent_name, "a private agent directory, removed at the end"}};
  // Pi takes seconds to compile what it finds here otherwise, and runs it.
  for (const char* cache : {"jiti", "node-compile-cache"})
    out_.copies.push_back(
        {join(from_.temp_dir, cache), std::string(tmp_name) + "/" + cache, false});
  // A worker that runs a workflow of its own writes a record of it.
  out_.copies.push_back(
      {join(from_.agent_dir, "missions"), std::string(agent_name) + "/missions", false});
  show_agent_directory();
}

void worker_examiner::show_agent_directory() {
  DIR* entries = ::opendir(from_.agent_dir.c_str());
  if (!entries)
    return; // Pi was never set up
  std::size_t count = 0;
  while (const dirent* e = ::readdir(entries)) {
    const std::string name = e->d_name;
    const std::string path = join(from_.agent_dir, name);
    if (name == "." || name == ".." || is_private(name))
      continue;
    if (++count > agent_entries) {
      fail("Pi's directory", from_.agent_dir, "holds more than 128 entries; remove some");
      break;
    }
    if (is_copied(name))
      out_.copies.push_back({path, std::string(agent_name) + "/" + name, true});
    else
      rule(access::read, path, "Pi's own directory, read-only");
  }
  ::closedir(entries);
}

result<external_worker> examine_external_worker(const external_worker_inputs& from) {
  return worker_examiner(from).run();
}

void set_agent_file(external_worker& worker, const std::string& name, std::string text) {
  for (private_copy& one : worker.copies)
    if (one.to == std::string(agent_name) + "/" + name)
      one.text = std::move(text);
}

} // namespace piorch::sandbox
