// What a command learns about the machine and the user before it does anything:
// trusted settings, paths, the inputs of the policy. Main thread.
#pragma once

#include "config/paths.hpp"
#include "config/settings.hpp"
#include "sandbox/policy.hpp"

#include <string>

namespace piorch::sandbox {

struct surroundings {
  config::paths paths;
  config::loaded_settings settings;
  policy_inputs policy; // workspace still empty
  std::string current_directory;
};

result<surroundings> look_around();

// The part that does not depend on the settings, for who goes on without them.
policy_inputs inputs_of(const config::paths& paths, const config::path_inputs& read,
                        const std::string& libexec_dir);

// An absolute path for what the user wrote, relative to `base`; not resolved.
std::string absolute(const std::string& written, const std::string& base);

} // namespace piorch::sandbox
