// Looks at everything that a sandbox needs on this machine, and makes a
// throw-away one. Starts bubblewrap and nothing else on the host. Blocks; main
// thread only.
#pragma once

#include "config/paths.hpp"
#include "config/result.hpp"
#include "config/settings.hpp"
#include "sandbox/doctor.hpp"
#include "sandbox/policy.hpp"

#include <string>

namespace piorch::sandbox {

// `settings` failed: the defaults are used for the throw-away sandbox. `from` as
// for make_policy, without workspace; programs inside `current_directory` do not count.
machine_facts examine(const config::paths& paths, const result<config::loaded_settings>& settings,
                      const policy_inputs& from, const std::string& current_directory);

// Mounts below /proc that cover parts of it, from the text of /proc/self/mountinfo.
std::vector<std::string> covered_proc(const std::string& mountinfo);

} // namespace piorch::sandbox
